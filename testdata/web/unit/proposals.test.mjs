import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProposalError, parseAnswer, parseProposal, textOf } from '../../../internal/web/src/proposal.mjs';
import { table } from './table.mjs';

const { forms, texts, answers } = table('web-proposals.json');

test('proposals are written as Go writes them', () => {
  let made = 0;
  for (const [i, { form, text = '' }] of forms.entries()) {
    let got = '';
    try {
      got = textOf({ ...form, base: form.base || null });
      made++;
    } catch (error) {
      assert.ok(error instanceof ProposalError, `${i}: ${error.stack}`);
    }
    // A write without a text is for what another agent wrote, which the page never sends.
    assert.equal(got, form.propose === 'write' && form.text === '' ? '' : text, `form ${i}`);
    if (got) assert.equal(parseProposal(got)?.text, form.text);
  }
  assert.ok(made >= 50);
});

test('proposals are read as Go reads them', () => {
  let good = 0;
  for (const [i, { text, form }] of texts.entries()) {
    const said = parseProposal(text);
    assert.deepEqual(said && { ...said, base: said.base ?? '' }, form, `text ${i}`);
    if (said) good++;
  }
  assert.ok(good >= 50 && texts.length - good >= 20, `${good} of ${texts.length}`);
});

test('answers are read as Go reads them', () => {
  let good = 0;
  for (const [i, { text, answer }] of answers.entries()) {
    const read = parseAnswer(text);
    const got = read && { accepted: read.answer === 'accepted', proposal: read.proposal, event: read.event, hash: read.hash, reason: read.reason };
    assert.deepEqual(got, answer, `answer ${i}`);
    if (got) good++;
  }
  assert.ok(good >= 3 && answers.length - good >= 20, `${good} of ${answers.length}`);
});

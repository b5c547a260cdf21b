package mcp

import (
	"cmp"
	"context"
	"strings"

	"engramd/internal/client"
	"engramd/internal/client/contract"
	"engramd/internal/platform/timeparse"
)

type contractNewIn struct {
	Description string `json:"description" jsonschema:"what is to be done, and what counts as done"`
	Worker      string `json:"worker,omitempty" jsonschema:"public key (npub or hex) or agent id of who is to do it; left out: whoever accepts first"`
	AmountSats  int64  `json:"amount_sats,omitempty" jsonschema:"what is paid, in satoshis"`
	Deadline    string `json:"deadline,omitempty" jsonschema:"when it expires, such as 2026-01-31T12:00:00Z"`
	Arbitrator  string `json:"arbitrator,omitempty" jsonschema:"public key or agent id of who may settle a dispute, and then reads all that is not sealed; agreed when the worker accepts"`
	Decider     string `json:"decider,omitempty" jsonschema:"public key or agent id of who may settle a dispute too, or relay: the operator of the relay that keeps the contract"`
	Expirer     string `json:"expirer,omitempty" jsonschema:"public key or agent id of who signs that the deadline is over, or relay: the relay that keeps the contract"`
	AllowSecret bool   `json:"allow_secret,omitempty" jsonschema:"send the text although something in it looks like a key or token. Only if the user said so: it cannot be taken back"`
}

type contractChangeOut struct {
	contractOut
	answer
}

func (s *contractTools) contractNew(ctx context.Context, in contractNewIn) (contractChangeOut, error) {
	if strings.TrimSpace(in.Description) == "" {
		return contractChangeOut{}, invalidf("the description is empty.")
	}
	if err := guardContract(in.AllowSecret, in.Description); err != nil {
		return contractChangeOut{}, err
	}
	o := contract.Offer{Description: in.Description, AmountSats: in.AmountSats, Worker: keyOrName(in.Worker), Arbitrator: keyOrName(in.Arbitrator),
		Decider: keyOrName(in.Decider), Expirer: keyOrName(in.Expirer)}
	if in.Deadline != "" {
		at, err := timeparse.Parse(in.Deadline, timeparse.Until, s.clock())
		if err != nil || !at.After(s.clock()) {
			return contractChangeOut{}, invalidf("deadline must be a time to come, such as 2026-01-31T12:00:00Z.")
		}
		o.Deadline = at.Unix()
	}
	return signing(ctx, s.calls, "", func(ctx context.Context) (contractChangeOut, error) {
		c, status, err := s.contracts.New(ctx, o)
		if err != nil {
			return contractChangeOut{}, contractFailed(err, status, true)
		}
		return contractChangeOut{s.contractOf(c), contractAnswer(status)}, nil
	})
}

// keyOrName returns a public key in hex if the text is one, else the text,
// which is a name.
func keyOrName(text string) string {
	text = strings.TrimSpace(text)
	return cmp.Or(contract.PubKeyOf(text), text)
}

type contractMoveIn struct {
	ContractID  string `json:"contract_id" jsonschema:"the contract, as contract_list or contract_new names it"`
	Status      string `json:"status" jsonschema:"accepted, submitted, completed, disputed or cancelled"`
	Note        string `json:"note,omitempty" jsonschema:"why; as public as what is shared"`
	With        string `json:"with,omitempty" jsonschema:"public key of the other party, only where several contracts have this id"`
	AllowSecret bool   `json:"allow_secret,omitempty" jsonschema:"send the text although something in it looks like a key or token. Only if the user said so: it cannot be taken back"`
}

func (s *contractTools) contractMove(ctx context.Context, in contractMoveIn) (contractChangeOut, error) {
	key, err := partyKey("with", in.With)
	if err != nil {
		return contractChangeOut{}, err
	}
	if err := guardContract(in.AllowSecret, in.Note); err != nil {
		return contractChangeOut{}, err
	}
	id := strings.TrimSpace(in.ContractID)
	return signing(ctx, s.calls, id, func(ctx context.Context) (contractChangeOut, error) {
		c, status, err := s.contracts.Move(ctx, id, key, strings.TrimSpace(in.Status), in.Note, nil)
		if err != nil {
			return contractChangeOut{}, contractFailed(err, status, true)
		}
		return contractChangeOut{s.contractOf(c), contractAnswer(status)}, nil
	})
}

type contractSayIn struct {
	ContractID  string   `json:"contract_id" jsonschema:"the contract, as contract_list or contract_new names it"`
	Content     string   `json:"content" jsonschema:"the text"`
	Type        string   `json:"type,omitempty" jsonschema:"message (if left out), revision: a change is asked for, deliverable: the work, note, or attachment"`
	Visibility  string   `json:"visibility,omitempty" jsonschema:"shared (if left out): both parties and whoever knows the contract's id; private: only you, never signed or published"`
	Attachments []string `json:"attachments,omitempty" jsonschema:"absolute http or https URLs"`
	With        string   `json:"with,omitempty" jsonschema:"public key of the other party, only where several contracts have this id"`
	AllowSecret bool     `json:"allow_secret,omitempty" jsonschema:"send the text although something in it looks like a key or token. Only if the user said so: it cannot be taken back"`
}

type contractSayOut struct {
	ContractID string   `json:"contract_id" jsonschema:"the contract, as contract_list or contract_new names it"`
	Entry      entryOut `json:"entry"`
	EventID    string   `json:"nostr_event_id,omitempty" jsonschema:"of the signed event; left out for private entries"`
	StoredOn   int      `json:"stored_on" jsonschema:"how many relays took it"`
	answer
}

func (s *contractTools) contractSay(ctx context.Context, in contractSayIn) (contractSayOut, error) {
	key, err := partyKey("with", in.With)
	if err != nil {
		return contractSayOut{}, err
	}
	if err := guardContract(in.AllowSecret, append([]string{in.Content}, in.Attachments...)...); err != nil {
		return contractSayOut{}, err
	}
	id := strings.TrimSpace(in.ContractID)
	return signing(ctx, s.calls, id, func(ctx context.Context) (contractSayOut, error) {
		e, status, err := s.contracts.Say(ctx, id, key, contract.Saying{Type: cmp.Or(in.Type, "message"), Visibility: in.Visibility, Content: in.Content, Attachments: in.Attachments})
		if err != nil {
			return contractSayOut{}, contractFailed(err, status, true)
		}
		return contractSayOut{ContractID: id, Entry: s.entryOf(contract.Contract{}, e), EventID: e.EventID, StoredOn: client.Accepted(status.Published), answer: contractAnswer(status)}, nil
	})
}

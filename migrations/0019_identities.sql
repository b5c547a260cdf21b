-- Names of agents that look the same are one name, and what the operator made stays known as his.

-- folded: the name in lower case without punctuation, and with one sign for those that look alike (0 o, 1 i l). It is no unique
-- index because names from before may share it; the writer lets no others in. provisioned: 1 for what the operator had made, also
-- when its agent has taken the key away since; of those who had before this column came that is not known.
ALTER TABLE contract_agents ADD COLUMN folded TEXT NOT NULL DEFAULT '';
ALTER TABLE contract_agents ADD COLUMN provisioned INTEGER NOT NULL DEFAULT 0;
UPDATE contract_agents SET provisioned = sealed IS NOT NULL,
  folded = replace(replace(replace(replace(replace(replace(lower(agent_id), '.', ''), '_', ''), '-', ''), '0', 'o'), '1', 'l'), 'i', 'l');
CREATE INDEX contract_agents_folded ON contract_agents(folded);
ALTER TABLE contract_names_gone ADD COLUMN folded TEXT NOT NULL DEFAULT '';
UPDATE contract_names_gone SET
  folded = replace(replace(replace(replace(replace(replace(lower(agent_id), '.', ''), '_', ''), '-', ''), '0', 'o'), '1', 'l'), 'i', 'l');
CREATE INDEX contract_names_gone_folded ON contract_names_gone(folded);

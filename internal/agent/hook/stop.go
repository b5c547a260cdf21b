package hook

// MinPrompts is how many prompts a session must have had to be asked at its end.
const MinPrompts = 8

// Ask is what a session is asked that ends without having remembered anything.
const Ask = "This session has remembered nothing so far. If something in it matters later (a decision and why, what the user wants, how something is done here), remember it now: memory_note for what happened, memory_write for what is so. Otherwise just end; you are not asked again."

package nipae

// References returns the slugs that a text refers to as [[slug]], each once,
// in the order of their first appearance (NIP-AE, "References"). The match is
// literal: there is no escape and no markup. What stands between the brackets
// must be a valid slug, core or mem/…; anything else is text.
func References(text string) []Slug {
	var found []Slug
	seen := make(map[Slug]bool)
	for i := 0; i+1 < len(text); i++ {
		if text[i] != '[' || text[i+1] != '[' {
			continue
		}
		// No slug holds a bracket, so no byte is looked at twice.
		end := i + 2
		for end < len(text) && isSlugByte(text[end]) {
			end++
		}
		if end+1 >= len(text) || text[end] != ']' || text[end+1] != ']' {
			continue
		}
		slug, err := ParseSlug(text[i+2 : end])
		if err == nil && !seen[slug] {
			seen[slug] = true
			found = append(found, slug)
		}
	}
	return found
}

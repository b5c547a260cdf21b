package mcp

import (
	"slices"
	"strings"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/memory/write"
	"engramd/nips/nipae"
)

// parseTarget checks the arguments that say what is written over.
func parseTarget(rawSlug, rawBase string) (slug nipae.Slug, base string, err error) {
	if slug, err = parseOwn(rawSlug); err != nil {
		return "", "", err
	}
	base, err = parseBase(rawBase)
	return slug, base, err
}

// parseOwn reads a slug that is to be written.
func parseOwn(text string) (nipae.Slug, error) {
	slug, err := parseSlug(text)
	if err == nil && write.Reserved(slug) {
		return "", &about{error: write.ErrReserved, slug: slug, write: true}
	}
	return slug, err
}

func parseSlugs(texts []string) (all []nipae.Slug, err error) {
	for _, text := range texts {
		slug, err := parseOwn(text)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(all, slug) {
			all = append(all, slug)
		}
	}
	return all, nil
}

// parseBase checks a hash.
func parseBase(text string) (string, error) {
	base := strings.ToLower(strings.TrimSpace(text))
	if base != "" && base != memory.BaseNone && (len(base) != 64 || strings.Trim(base, "0123456789abcdef") != "") {
		f := invalidf("base is not a hash: it has 64 hex digits.")
		f.Action = "Give the hash that memory_read returned for the text you changed, or leave base out."
		return "", f
	}
	return base, nil
}

func checkText(text string) error {
	switch {
	case text == "":
		return client.ErrEmpty
	case len(text) > maxText:
		return client.ErrTooLarge
	}
	return nil
}

// parseSlug reads a slug as a model writes it.
func parseSlug(text string) (nipae.Slug, error) {
	text = bare(text)
	slug, err := nipae.NormalizeSlug(text)
	if err != nil {
		f := invalidf("%s is %s. A slug is core, or mem/ and parts of a-z, 0-9, _ and - between slashes, each beginning with a letter or digit, 64 bytes at most.", quoted(text), err)
		if near := suggested(text); near != "" {
			f.Action = "Use " + near + ", or another slug of that form."
		}
		return "", f
	}
	return slug, nil
}

// bare returns a slug without what models write around it: brackets of a link,
// the scheme of a resource, and the folder and the ending of a file.
func bare(text string) string {
	text = strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(text, "[["); ok {
		text = strings.TrimSuffix(inner, "]]")
	}
	text = strings.TrimPrefix(text, resourceScheme)
	text = strings.TrimPrefix(strings.TrimPrefix(text, "/"), "memories/")
	return strings.TrimSuffix(text, ".md")
}

// suggested returns a slug that the caller may have meant, "" if there is no
// good guess.
func suggested(text string) string {
	text = strings.ToLower(strings.Join(strings.Fields(text), "-"))
	var b strings.Builder
	for _, r := range text {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '/', r == '_', r == '-':
			b.WriteRune(r)
		case r == '.', r == ':', r == '\\':
			b.WriteRune('-')
		}
	}
	parts := strings.FieldsFunc(b.String(), func(r rune) bool { return r == '/' })
	var kept []string
	for _, p := range parts {
		if p = strings.Trim(p, "-_"); p != "" {
			kept = append(kept, p[:min(len(p), 64)])
		}
	}
	slug, err := nipae.NormalizeSlug(strings.Join(kept, "/"))
	if err != nil {
		return ""
	}
	return string(slug)
}

package write

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"engramd/internal/client/memory"
	"engramd/internal/platform/pattern"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

var (
	// ErrField is a field that cannot be set to that.
	ErrField = errors.New("not a field that can be written")
	// ErrCore is a field for the core, which has no front matter.
	ErrCore = fmt.Errorf("%w: core has no front matter", ErrField)
)

// MaxSupersedes is how many memories one text may supersede.
const MaxSupersedes = 16

// Fields are those that a writer may choose. What is zero stays as it is.
type Fields struct {
	Type        string
	Description string
	Tags        []string // nil: as they are; empty: none
	Salience    *float64
	// Supersedes are added to those that the text supersedes already.
	Supersedes []nipae.Slug
	Trust      string // "" or external
	Expires    memory.Expiry
	state      frontmatter.State
}

// None reports whether no field is chosen.
func (f Fields) None() bool {
	return f.Type == "" && f.Description == "" && f.Tags == nil && f.Salience == nil && len(f.Supersedes) == 0 && f.Trust == "" && f.Expires.At == 0 && f.state == ""
}

// Types are the words that Fields.Type takes.
func Types() []string {
	return []string{string(frontmatter.Semantic), string(frontmatter.Episodic), string(frontmatter.Procedural), string(frontmatter.Insight), string(frontmatter.Prospective), string(frontmatter.Narrative)}
}

// changes returns what the fields do to the front matter of a text at a slug.
// The error is ErrField.
func (f Fields) changes(slug nipae.Slug, d frontmatter.Doc) ([]frontmatter.Change, error) {
	if slug.IsCore() && !f.None() {
		return nil, ErrCore
	}
	var all []frontmatter.Change
	if f.Type != "" {
		if !slices.Contains(Types(), f.Type) {
			return nil, fmt.Errorf("%w: type must be one of %s", ErrField, strings.Join(Types(), ", "))
		}
		all = append(all, frontmatter.Set("type", frontmatter.String(f.Type)))
	}
	if f.Description != "" {
		all = append(all, frontmatter.Set("description", frontmatter.String(strings.Join(strings.Fields(f.Description), " "))))
	}
	if tags := distinct(f.Tags); len(tags) > 0 {
		all = append(all, frontmatter.Set("tags", frontmatter.Strings(tags...)))
	} else if f.Tags != nil {
		all = append(all, frontmatter.Remove("tags"))
	}
	if f.Salience != nil {
		if !(*f.Salience >= 0 && *f.Salience <= 1) {
			return nil, fmt.Errorf("%w: salience must be a number from 0 to 1", ErrField)
		}
		all = append(all, frontmatter.Set("salience", frontmatter.Number(*f.Salience)))
	}
	more, err := f.supersede(slug, d)
	if err != nil {
		return nil, err
	}
	all = append(all, more...)
	if f.state != "" {
		all = append(all, frontmatter.Set("state", frontmatter.String(string(f.state))))
	}
	switch f.Trust {
	case "":
	case frontmatter.External.String():
		all = append(all, frontmatter.Set("trust", frontmatter.String(f.Trust)))
	default:
		return nil, fmt.Errorf("%w: trust can only be set to external; it is never raised", ErrField)
	}
	return all, nil
}

func (f Fields) supersede(slug nipae.Slug, d frontmatter.Doc) ([]frontmatter.Change, error) {
	if len(f.Supersedes) == 0 {
		return nil, nil
	}
	if slices.Contains(f.Supersedes, slug) || slices.Contains(f.Supersedes, nipae.Core) {
		return nil, fmt.Errorf("%w: a memory supersedes others, neither itself nor core", ErrField)
	}
	v, _ := d.Value("supersedes")
	items := v.Items()
	for _, s := range f.Supersedes {
		if !slices.ContainsFunc(items, func(item string) bool { return target(item) == string(s) }) {
			items = append(items, string(s))
		}
	}
	if len(f.Supersedes) > MaxSupersedes {
		return nil, fmt.Errorf("%w: a text supersedes at most %d memories at once", ErrField, MaxSupersedes)
	}
	return []frontmatter.Change{frontmatter.Set("supersedes", frontmatter.Strings(items...))}, nil
}

// target returns the slug of an item of a relation, without its strength.
func target(item string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(item), " ")
	return strings.TrimSuffix(strings.TrimPrefix(first, "[["), "]]")
}

// distinct returns what is not blank, each once, in order.
func distinct(items []string) []string {
	var all []string
	for _, s := range items {
		if s = strings.Join(strings.Fields(s), " "); s != "" && !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// PlaceholderError is a line that stands for a text which was left out: whoever
// writes it means to keep what is there, and would lose it.
type PlaceholderError struct{ Line int }

// Error names the line.
func (e *PlaceholderError) Error() string {
	return fmt.Sprintf("line %d stands for text that was left out", e.Line)
}

const (
	// maxPlaceholder is the longest line that is looked at, in bytes.
	maxPlaceholder = 160
	whatIsLeftOut  = `(file|text|content|contents|code|memory|document|note|notes|entries|lines|sections?|items|list|file contents?|text contents?)`
	which          = `((the|this|your|all|any) )*(existing|previous|original|other|remaining|current|earlier)`
	restOf         = `((keep|with) )?(the )?(rest|remainder) of (the |this |your )?(existing |previous |original |current )?(\w+ )?` + whatIsLeftOut
	rest           = `(` + restOf + `|((keep|with) )?(the )?(rest|remainder))`
	stays          = `(remains?|stays?|is|are|kept|left|continues?|goes)( (here|unchanged|the same|as is|as it was|as before|intact|omitted|unmodified))*|unchanged|the same|as is|as before|omitted|preserved|retained|here`
	after          = `( (here|below|above|for brevity|from before))?`
)

var (
	// leftOut says that something stays as it is.
	leftOut = pattern.Later(`(?i)^(` + rest + `|((keep|with) )?` + which + `( ` + whatIsLeftOut + `)?|((keep|with) )?(everything|all) else|no changes|truncated) (` + stays + `)` + after + `$`)
	// named names only what is left out, or that something is: between dots,
	// brackets, or in a comment of code that is no heading.
	named = pattern.Later(`(?i)^((keep|with) )?(` + restOf + `|` + which + ` ` + whatIsLeftOut + `|unchanged|snip|truncated|omitted|same as before)` + after + `$`)
	// elsewhere says in other languages that the rest stays as it is, or is left out.
	elsewhere = pattern.Later(`(?i)^(` + strings.Join([]string{
		`(le )?(reste|contenu existant)( d\pL+('| la | )\pL+)? ((est|reste|demeure) )?(inchangée?|identique|tel quel)`,
		`(der )?(rest|restliche inhalt|bisherige inhalt)( de\pL \pL+)? ((bleibt|ist) )?(unverändert|gleich|wie bisher|wie zuvor)`,
		`(el )?(resto|contenido existente)( del?( la)? \pL+)? ((permanece|queda|sigue) )?(sin cambios|igual)`,
		`(o )?(resto|conteúdo existente)( d[oa]s? \pL+)? ((permanece|fica|continua) )?(inalterado|igual|sem alterações)`,
		`(il )?(resto|contenuto esistente)( de\pL+ \pL+)? ((rimane|resta) )?(invariato|uguale)`,
		`остальн\pL+( \pL+){0,2} (без изменений|не изменил\pL+|как было)`,
		`(其余|其他|剩余|现有|原有|其餘|剩餘)的?(内容|部分|文件|代码|文本|內容)?(保持|均)?(不变|不變|省略|同上|略)`,
		`(残り|以下|既存|その他)の?(内容|部分|ファイル|コード)?は?(変更なし|省略|そのまま|同じ|同様)`,
		`나머지( (내용|부분)[은는]?)? (변경 없음|동일|그대로|생략)`}, "|") + `)$`)
	// onlyDots stand between brackets, alone on their line.
	onlyDots = pattern.Later(`^[\[({<（【] ?(…+|\.{3,}) ?[\])}>）】]$`)
	bullet   = pattern.Later(`^[-*+] +`)
)

// Placeholder finds a line of a text that stands for text left out, such as
// "[Rest of the file remains unchanged]", and is not in the old text already.
// Only lines count that look like an aside: in brackets, with dots, as a
// comment. The error is a *PlaceholderError.
func Placeholder(old, text string) error {
	n := 0
	for line := range strings.Lines(text) {
		n++
		if line = strings.TrimSpace(line); standsFor(line) && !strings.Contains(old, line) {
			return &PlaceholderError{Line: n}
		}
	}
	return nil
}

func standsFor(line string) bool {
	if len(line) > maxPlaceholder {
		return false
	}
	const marks = " \t.…[](){}<>/*_#-!;:%\"'`（）【】。"
	line = bullet().ReplaceAllString(line, "")
	words := strings.Trim(line, marks)
	around := strings.Replace(line, words, "", 1)
	marked := strings.Contains(around, "...") || strings.Contains(around, "…")
	stressed := strings.TrimLeft(line, "*_") // a heading as much as an aside
	for _, mark := range []string{"//", "/*", "<", "(", "{", "[", "（", "【"} {
		marked = marked || strings.HasPrefix(stressed, mark) && !strings.HasPrefix(stressed, "[[")
	}
	words = strings.Join(strings.Fields(words), " ")
	if onlyDots().MatchString(line) || marked && named().MatchString(words) {
		return true
	}
	marked = marked || stressed != line
	return marked && elsewhere().MatchString(words) || (marked || strings.HasPrefix(line, "#")) && leftOut().MatchString(words)
}

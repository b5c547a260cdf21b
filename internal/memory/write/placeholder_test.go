package write

import "testing"

func TestPlaceholder(t *testing.T) {
	for _, line := range []string{
		"[Rest of the existing file content remains unchanged...]", "[Rest of the file remains unchanged]", "... existing content ...", "// rest unchanged",
		"... (rest of the file unchanged)", "<!-- existing content here -->", "[... rest of the content ...]", "// ... existing code ...", "[unchanged]",
		"(rest of the notes stay the same)", "…rest of memory…", "# ... rest of the text stays as is ...", "<existing content>", "[previous content unchanged]",
		"... remaining sections unchanged ...", "[Keep all existing entries]", "/* other sections omitted */", "- ... rest as before ...",
		"[Remaining content remains the same]", "...everything else unchanged...", "// The rest of the code remains the same",
		"**[Unchanged]**", "*... existing content ...*", "__rest unchanged__", "*Der Rest bleibt unverändert*",
		"# ... keep everything else as is ...", "[…]", "(...)", "- (previous entries preserved)", "*The rest stays as before.*", "_rest unchanged_", "（其余内容不变）", "[其他部分省略]", "【残りの内容は変更なし】",
		"[Le reste du fichier est inchangé]", "(le reste de la mémoire reste identique)", "[Der Rest der Datei bleibt unverändert]", "… Rest unverändert …", "[El resto del archivo permanece sin cambios]", "(o resto do ficheiro continua igual)",
		"<!-- il resto del testo rimane invariato -->", "[Остальная часть файла без изменений]", "// 나머지 내용은 동일",
	} {
		if Placeholder("", "a title\n"+line+"\nend") == nil {
			t.Errorf("%q is taken for a text", line)
		}
		if err := Placeholder("before\n"+line, line); err != nil {
			t.Errorf("%q stands there already: %v", line, err)
		}
	}
	for _, line := range []string{
		"", "...", "The rest of the plan stays the same.", "# Existing content", "Keep the existing entries in order.", "[[mem/rest]]", "[x] unchanged tests pass",
		"- rest days are unchanged", "The file remains unchanged since May", "(see existing notes by Ana)", "... and so on", "// TODO", "[1] https://example.org/rest",
		"Existing code is in Go", "The API returns 304 if the content is unchanged", "## Unchanged", "<https://example.org>", "(the rest)", "[rest](https://example.org)",
		"We keep the rest of the content in S3...", "... unchanged since 2019", "(omitted in the minutes)", "[Rest API remains stable]", "1. Rest for the remainder of the day",
		"**Unchanged**", "*Truncated*", "__Omitted__", "**Same as before**", "- **Unchanged:**", "*Snip*", "**Previous notes**",
		"…", "- ...", "*important*", "[…] and then he left", "Le reste du fichier est inchangé.", "Der Rest bleibt gleich.", "其余内容不变", "*Everything else is on paper.*", "* everything else stays in the drawer", "(el resto de la semana)", "[Rest der Suppe einfrieren]",
	} {
		if err := Placeholder("", line); err != nil {
			t.Errorf("%q is taken for a placeholder: %v", line, err)
		}
	}
}

func FuzzPlaceholder(f *testing.F) {
	f.Add("[Rest of the file remains unchanged]")
	f.Add("... … [[")
	f.Fuzz(func(t *testing.T, text string) {
		if err := Placeholder(text, text); err != nil {
			t.Errorf("%q stands in itself: %v", text, err)
		}
		_ = Placeholder("", text)
	})
}

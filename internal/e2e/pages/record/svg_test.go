package main

import (
	"encoding/xml"
	"errors"
	"html"
	"io"
	"strings"
	"testing"

	"engramd/internal/e2e/pages"
)

// TestPictureIsOfThisPage: docs/five-minutes.svg shows the commands that
// README.md has, and README.md shows the picture.
func TestPictureIsOfThisPage(t *testing.T) {
	page, err := pages.Read("README.md")
	if err != nil {
		t.Fatal(err)
	}
	section, err := pages.Section(page, "Five minutes")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(section, "(docs/five-minutes.svg)") {
		t.Error("README.md does not show docs/five-minutes.svg")
	}
	picture, err := pages.Read("docs/five-minutes.svg")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range drawn(pages.Console(section)) {
		first := strings.TrimPrefix(wrap("typed", "$ "+s.Command)[0].text, "$ ")
		if s.Command != "make run" && !strings.Contains(picture, ">"+html.EscapeString(first)+"<") {
			t.Errorf("docs/five-minutes.svg lacks %q: go run ./internal/e2e/pages/record draws it again", first)
		}
	}
}

func TestDraw(t *testing.T) {
	long := strings.Repeat("x", columns) + "end"
	svg := draw([]pages.Step{{Command: "echo '<&>'", Output: "<&>\n" + long}, {Command: "false", Output: "engramctl x: no", Block: 1}})
	dec := xml.NewDecoder(strings.NewReader(svg))
	texts := map[string]bool{}
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("not XML: %v\n%s", err, svg)
		}
		if text, ok := token.(xml.CharData); ok {
			texts[string(text)] = true
		}
	}
	for _, want := range []string{"echo '<&>'", "<&>", long[:columns], "end", "engramctl x: no"} {
		if !texts[want] {
			t.Errorf("it does not show %q", want)
		}
	}
	if !strings.Contains(svg, `class="bad"`) {
		t.Error("an error is not marked")
	}
}

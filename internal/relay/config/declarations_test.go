package config

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"engramd/internal/e2e/golden"
)

// TestDeclarations: names are unique in every notation, every option stands
// in a declared section, has help and points at a field of its own.
func TestDeclarations(t *testing.T) {
	seen := map[string]bool{}
	sectionNames := map[string]bool{}
	for _, s := range sections() {
		sectionNames[s.name] = true
	}
	for _, o := range Options() {
		for _, name := range []string{o.Key, "--" + o.Flag(), o.Env()} {
			if seen[name] {
				t.Errorf("%s is declared twice", name)
			}
			seen[name] = true
		}
		if !sectionNames[o.section()] {
			t.Errorf("%s: section %q is not described", o.Key, o.section())
		}
		if !strings.HasSuffix(o.Help, ".") || len(o.Help) < 15 {
			t.Errorf("%s: help %q is not a sentence", o.Key, o.Help)
		}
	}
	for _, want := range []string{"--listen", "--data", "--public-url", "--metrics-listen", "ENGRAMD_LISTEN", "ENGRAMD_GATE_WILDCARD", "limits.message_bytes"} {
		if !seen[want] {
			t.Errorf("%s is missing", want)
		}
	}
}

// TestEveryFieldHasAnOption walks Config: a field that no option sets would
// silently stay zero.
func TestEveryFieldHasAnOption(t *testing.T) {
	if fields, opts := leaves(reflect.TypeFor[Config]()), len(Options()); fields != opts {
		t.Errorf("Config has %d fields, declarations %d", fields, opts)
	}
}

func leaves(t reflect.Type) int {
	n := 0
	for i := range t.NumField() {
		f := t.Field(i)
		switch {
		case !f.IsExported():
		case f.Type.Kind() == reflect.Struct && f.Type != reflect.TypeFor[Rate]():
			n += leaves(f.Type)
		default:
			n++
		}
	}
	return n
}

func TestDefaultsAreValid(t *testing.T) {
	if errs := Default().check(); len(errs) > 0 {
		t.Error(errs)
	}
	for _, o := range Default().options() {
		if err := o.value.setText([]string{strings.Trim(o.value.defaultLiteral(), `"[]`)}); err != nil {
			t.Errorf("%s: its own default is refused: %v", o.Key, err)
		}
	}
}

// TestPrintedConfigurationReadsBack: what `engramd config` prints is a file
// that means the same.
func TestPrintedConfigurationReadsBack(t *testing.T) {
	first, err := load(t, "", []string{"ENGRAMD_INFO_NAME=a \"quoted\" \\ name\n\x01ü"}, "--write-kinds", "1,2",
		"--proxy-trusted", "10.0.0.0/8", "--limits-events-per-key", "0.25", "--limits-future", "90s",
		"--gate-rules", "30078 author", "--public-url", "wss://a.example/path")
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := first.WriteTOML(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# (from: flag --write-kinds)\nkinds = [1, 2]\n", "# (from: default)\nsubscriptions = 64\n", `events_per_key = "0.25/s, burst 100"`, `future = "1m30s"`} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("print lacks %q", want)
		}
	}
	second, err := load(t, text.String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := Diff(first, second); len(diff) > 0 {
		t.Errorf("differs after reading back: %v", diff)
	}
}

// TestExampleMeansTheDefaults: with every # taken out, the example is the
// default configuration.
func TestExampleMeansTheDefaults(t *testing.T) {
	var text bytes.Buffer
	if err := WriteExample(&text); err != nil {
		t.Fatal(err)
	}
	var active strings.Builder
	for line := range strings.Lines(text.String()) {
		if key, _, ok := strings.Cut(strings.TrimPrefix(line, "# "), " = "); ok && !strings.ContainsAny(key, " (") {
			line = strings.TrimPrefix(line, "# ")
		}
		active.WriteString(line)
	}
	got, err := load(t, active.String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := Diff(Default(), got); len(diff) > 0 {
		t.Errorf("differs: %v", diff)
	}
	if n := len(got.origins); n != len(Options()) {
		t.Errorf("the example sets %d options of %d", n, len(Options()))
	}
}

// TestGoldenDocs: the example and the table of options are generated.
func TestGoldenDocs(t *testing.T) {
	var example, table bytes.Buffer
	if err := WriteExample(&example); err != nil {
		t.Fatal(err)
	}
	if err := WriteMarkdown(&table); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "../../../docs/engramd.example.toml", example.String())
	golden.Part(t, "../../../docs/configuration.md", "<!-- options: generated, see internal/relay/config -->\n", "<!-- end of options -->\n", table.String())
}

func TestHelpNamesEveryOption(t *testing.T) {
	var b bytes.Buffer
	WriteHelp(&b, []string{""})
	for _, o := range Options() {
		if !strings.Contains(b.String(), "--"+o.Flag()+" ") || !strings.Contains(b.String(), o.Env()) {
			t.Errorf("help lacks %s", o.Key)
		}
	}
}

// WriteMarkdown prints the table of options in docs/configuration.md.
func WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	opts := Options()
	cell := strings.NewReplacer("|", `\|`, "\n", " ")
	for _, s := range sections() {
		title := "`[" + s.name + "]`"
		if s.name == "" {
			title = "Top level"
		}
		fmt.Fprintf(&b, "### %s\n\n%s\n\n| key | default | live | cluster | meaning |\n|---|---|---|---|---|\n", title, s.help)
		for _, o := range opts {
			if o.section() != s.name {
				continue
			}
			fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s | %s *(%s)* |\n", o.Key, cell.Replace(o.Default()), yesNo(o.Live), yesNo(o.Cluster()), cell.Replace(o.Help), cell.Replace(o.Type()))
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

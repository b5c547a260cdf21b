package root

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A list in Markdown begins with "- ", and so do many memories. A word that
// begins with a dash and can be no flag of ours is an argument, without "--"
// before it.

// withTexts moves such arguments behind a "--", which is how cobra is told.
func withTexts(root *cobra.Command, args []string) []string {
	c, _, err := root.Find(slices.DeleteFunc(slices.Clone(args), isText))
	if err != nil {
		return args // it says itself what is wrong
	}
	var flags, texts []string
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			texts = append(texts, args[i+1:]...)
			i = len(args)
		case isText(arg):
			texts = append(texts, arg)
		case takesNext(c, arg) && i+1 < len(args):
			flags = append(flags, arg, args[i+1])
			i++
		default:
			flags = append(flags, arg)
		}
	}
	if len(texts) == 0 {
		return args
	}
	return slices.Concat(flags, []string{"--"}, texts)
}

// isText reports whether an argument begins like a flag and has no flag's name:
// those are letters, digits and dashes up to the end or "=".
func isText(arg string) bool {
	rest, dashed := strings.CutPrefix(arg, "-")
	if !dashed || rest == "" || arg == "--" {
		return false
	}
	rest = strings.TrimPrefix(rest, "-")
	name, _, _ := strings.Cut(rest, "=")
	isLetter := func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
	return name == "" || !isLetter(rune(name[0])) ||
		strings.ContainsFunc(name, func(r rune) bool { return !isLetter(r) && !(r >= '0' && r <= '9') && r != '-' })
}

// takesNext reports whether an argument is a flag whose value is the next one.
func takesNext(c *cobra.Command, arg string) bool {
	name, long := strings.CutPrefix(arg, "--")
	if strings.Contains(arg, "=") || !strings.HasPrefix(arg, "-") {
		return false
	}
	var flag *pflag.Flag
	if long {
		flag = c.Flag(name)
	} else if name = arg[1:]; len(name) == 1 {
		flag = c.Flags().ShorthandLookup(name)
	}
	return flag != nil && flag.NoOptDefVal == ""
}

// dashHelp reports how a text is given that does look like a flag.
func dashHelp(_ *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		return fmt.Errorf(`%w (a text that begins with "-" and looks like a flag goes behind "--")`, err)
	}
	return err
}

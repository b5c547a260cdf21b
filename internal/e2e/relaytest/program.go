package relaytest

import (
	"errors"
	"fmt"
	"os"
)

// Program is the T of a program that is no test.
type Program struct {
	name string
	undo []func()
	errs []error
}

// NewProgram makes one that calls itself by a name.
func NewProgram(name string) *Program { return &Program{name: name} }

// Helper does nothing.
func (p *Program) Helper() {}

// Logf prints a remark.
func (p *Program) Logf(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// Errorf notes a failure, which Finish returns.
func (p *Program) Errorf(format string, args ...any) {
	p.errs = append(p.errs, fmt.Errorf(format, args...))
}

// Fatalf undoes what was begun and ends the program.
func (p *Program) Fatalf(format string, args ...any) {
	err := errors.Join(fmt.Errorf(format, args...), p.Finish())
	fmt.Fprintf(os.Stderr, "%s: %v\n", p.name, err)
	os.Exit(1)
}

// Cleanup registers what is undone at the end, last first.
func (p *Program) Cleanup(f func()) { p.undo = append(p.undo, f) }

// TempDir makes a folder that is removed at the end.
func (p *Program) TempDir() string {
	dir, err := os.MkdirTemp("", "engramd-"+p.name+"-")
	if err != nil {
		p.Fatalf("%v", err)
	}
	p.Cleanup(func() { p.errs = append(p.errs, os.RemoveAll(dir)) })
	return dir
}

// Finish undoes what was begun and returns everything that went wrong.
func (p *Program) Finish() error {
	for ; len(p.undo) > 0; p.undo = p.undo[:len(p.undo)-1] {
		p.undo[len(p.undo)-1]()
	}
	return errors.Join(append(p.errs, Clean())...)
}

package contracts

import (
	"errors"
	"fmt"
)

// Code is the class of an Error; the transport maps it to a status.
type Code int

// The classes of errors, with the HTTP status each stands for.
const (
	Invalid         Code = iota + 1 // 400, Fields says which
	Unauthenticated                 // 401
	Forbidden                       // 403
	NotFound                        // 404
	Conflict                        // 409
	TooLarge                        // 413
	RateLimited                     // 429
	Unavailable                     // 503
)

// Error is a refusal for the caller. Its texts name roles and fields, never
// keys or contents.
type Error struct {
	Code    Code
	Message string
	Fields  map[string]string // Invalid: field name to what is wrong with it
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// CodeOf returns the class of err; 0 for a failure, which is not a refusal.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

// Refuse returns an Error, for this package and those that implement its
// interfaces.
func Refuse(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Wrong returns the Invalid error of one field.
func Wrong(field, format string, args ...any) *Error {
	what := fmt.Sprintf(format, args...)
	return &Error{Code: Invalid, Message: field + ": " + what, Fields: map[string]string{field: what}}
}

// errNotFound returns the same error for what does not exist and for what the
// caller may not know of.
func errNotFound(what string) *Error { return Refuse(NotFound, "there is no such %s", what) }

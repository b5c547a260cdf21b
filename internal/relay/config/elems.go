package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// quoted writes a TOML basic string; strconv's escapes are TOML's except for
// control characters, which TOML wants as \u.
func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func wantString(what string) func(any) (string, error) {
	return func(v any) (string, error) {
		s, ok := v.(string)
		if !ok {
			return "", fmt.Errorf("want %s in quotes, have %s", what, tomlType(v))
		}
		return s, nil
	}
}

// text takes any string that check (nil: none) accepts.
func text(check func(string) error) elem[string] {
	return elem[string]{one: "text", many: "texts", format: quoted, toml: wantString("text"),
		parse: func(s string) (string, error) {
			if check == nil {
				return s, nil
			}
			return s, check(s)
		}}
}

// choice takes one of the words.
func choice(words ...string) elem[string] {
	e := text(func(s string) error {
		if !slices.Contains(words, s) {
			return fmt.Errorf("%q is not one of %s", s, strings.Join(words, ", "))
		}
		return nil
	})
	e.one = strings.Join(words, " or ")
	return e
}

func boolean() elem[bool] {
	return elem[bool]{one: "true or false", format: strconv.FormatBool,
		parse: func(s string) (bool, error) {
			v, err := strconv.ParseBool(s)
			if err != nil {
				return false, fmt.Errorf("%q is neither true nor false", s)
			}
			return v, nil
		},
		toml: func(v any) (string, error) {
			b, ok := v.(bool)
			if !ok {
				return "", fmt.Errorf("want true or false without quotes, have %s", tomlType(v))
			}
			return strconv.FormatBool(b), nil
		}}
}

// whole takes an integer of at least low and at most high.
func whole[T int | int64](low, high T) elem[T] {
	return elem[T]{one: "whole number", many: "whole numbers",
		format: func(v T) string { return strconv.FormatInt(int64(v), 10) },
		parse: func(s string) (T, error) {
			v, err := strconv.ParseInt(strings.ReplaceAll(s, "_", ""), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("%q is not a whole number", s)
			}
			return T(v), between(v, int64(low), int64(high))
		},
		toml: wantInteger,
	}
}

func wantInteger(v any) (string, error) {
	n, ok := v.(int64)
	if !ok {
		return "", fmt.Errorf("want a whole number without quotes, have %s", tomlType(v))
	}
	return strconv.FormatInt(n, 10), nil
}

func between(v, low, high int64) error {
	switch {
	case v < low:
		return fmt.Errorf("%d is too small: at least %d", v, low)
	case v > high:
		return fmt.Errorf("%d is too large: at most %d", v, high)
	}
	return nil
}

// size takes bytes as a number or as text with a unit (KiB, MiB, GiB, TiB).
func size[T int | int64](low, high T) elem[T] {
	e := whole(low, high)
	e.one = `bytes: a number, or text such as "64MiB"`
	plain := e.parse
	e.parse = func(s string) (T, error) {
		number, factor := s, int64(1)
		for i, unit := range []string{"KiB", "MiB", "GiB", "TiB"} {
			if head, ok := strings.CutSuffix(s, unit); ok {
				number, factor = strings.TrimSpace(head), 1<<(10*(i+1))
			}
		}
		if factor == 1 {
			return plain(s)
		}
		v, err := strconv.ParseInt(number, 10, 64)
		if err != nil || v < 0 || v > math.MaxInt64/factor {
			return 0, fmt.Errorf("%q is not a size: want bytes, or a number with KiB, MiB, GiB or TiB", s)
		}
		return T(v * factor), between(v*factor, int64(low), int64(high))
	}
	e.toml = func(v any) (string, error) {
		if s, ok := v.(string); ok {
			return s, nil
		}
		return wantInteger(v)
	}
	return e
}

// orNone takes zero for no limit beside what e takes.
func orNone[T int | int64](e elem[T]) elem[T] {
	parse := e.parse
	e.parse = func(s string) (T, error) {
		if strings.TrimSpace(s) == "0" {
			return 0, nil
		}
		return parse(s)
	}
	return e
}

// Auto is what an option has that is measured at the start.
const Auto = int64(-1)

// orAuto takes "auto" beside what e takes.
func orAuto(e elem[int64]) elem[int64] {
	parse, format := e.parse, e.format
	e.one += `, or "auto"`
	e.parse = func(s string) (int64, error) {
		if s == "auto" {
			return Auto, nil
		}
		return parse(s)
	}
	e.format = func(v int64) string {
		if v == Auto {
			return `"auto"`
		}
		return format(v)
	}
	return e
}

// rate takes events per second and, after a comma, how many at once: "500/s, burst
// 20000". A number alone is a rate. Without a burst, Burst is 0.
func rate() elem[Rate] {
	return elem[Rate]{one: `rate, such as "500/s, burst 20000"`, format: formatRate,
		parse: func(s string) (Rate, error) {
			number, burst, bursts := strings.Cut(s, ", burst ")
			v, err := strconv.ParseFloat(strings.TrimSuffix(number, "/s"), 64)
			if err != nil || v < 0 || math.IsInf(v, 0) || math.IsNaN(v) {
				return Rate{}, fmt.Errorf(`%q is not a rate such as "500/s, burst 20000"`, s)
			}
			r := Rate{PerSecond: v}
			if bursts {
				r.Burst, err = whole(1, maxInt).parse(burst)
			}
			return r, err
		},
		toml: func(v any) (string, error) {
			switch n := v.(type) {
			case int64:
				return strconv.FormatInt(n, 10), nil
			case float64:
				return strconv.FormatFloat(n, 'f', -1, 64), nil
			}
			return wantString(`a rate such as "500/s, burst 20000"`)(v)
		}}
}

// formatRate leaves the burst out where it is not known, and where it has no
// meaning.
func formatRate(r Rate) string {
	if r.PerSecond == 0 {
		return "0"
	}
	text := strconv.FormatFloat(r.PerSecond, 'f', -1, 64) + "/s"
	if r.Burst > 0 {
		text += ", burst " + strconv.Itoa(r.Burst)
	}
	return quoted(text)
}

// duration takes Go's notation: "500ms", "10s", "15m", "1h30m".
func duration(low, high time.Duration) elem[time.Duration] {
	return elem[time.Duration]{one: "duration",
		format: func(d time.Duration) string { return quoted(shortDuration(d)) },
		parse: func(s string) (time.Duration, error) {
			d, err := time.ParseDuration(s)
			if err != nil {
				return 0, fmt.Errorf("%q is not a duration such as 500ms, 10s or 15m", s)
			}
			if d < low || d > high {
				return 0, fmt.Errorf("%s is not between %s and %s", s, shortDuration(low), shortDuration(high))
			}
			return d, nil
		},
		toml: wantString(`a duration such as "10s"`)}
}

// shortDuration drops the zero parts that Duration.String keeps: 15m, not
// 15m0s.
func shortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

package report

import (
	"math"
	"strconv"
	"strings"
)

// number writes v with about three significant digits and commas between
// thousands.
func number(v float64) string {
	if v == 0 {
		return "0"
	}
	if math.Abs(v) < 1000 {
		v = significant(v, 3)
	}
	switch abs := math.Abs(v); {
	case abs >= 1000:
		return commas(strconv.FormatFloat(significant(v, 4), 'f', 0, 64))
	case abs >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case abs >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case abs >= 0.01:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

// whole writes a number exactly, with commas.
func whole(n int64) string { return commas(strconv.FormatInt(n, 10)) }

func significant(v float64, digits int) float64 {
	scale := math.Pow(10, float64(digits)-math.Ceil(math.Log10(math.Abs(v))))
	return math.Round(v*scale) / scale
}

func commas(digits string) string {
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// scaled is by how much to divide figures about as large as v, and the unit
// that they are in then: long times in µs become milliseconds or seconds.
func scaled(v float64, unit string) (by float64, shown string) {
	switch {
	case unit == "µs" && math.Abs(v) >= 1e6:
		return 1e6, "s"
	case unit == "µs" && math.Abs(v) >= 1000:
		return 1000, "ms"
	}
	return 1, unit
}

// value returns a figure with its unit.
func value(v float64, unit string) string {
	by, unit := scaled(v, unit)
	return strings.TrimSuffix(number(v/by)+" "+unit, " ")
}

// power writes 100000 as 10⁵, other numbers as they are.
func power(n int) string {
	text := strconv.Itoa(n)
	if strings.TrimRight(text[1:], "0") != "" || text[0] != '1' || n < 1000 {
		return whole(int64(n))
	}
	return "10" + strings.NewReplacer("0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹").
		Replace(strconv.Itoa(len(text)-1))
}

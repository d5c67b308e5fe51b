package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
)

// pairs is the value of a flag that may be repeated. A text is one name=value, whose value is all that follows the
// first "=", byte for byte. It is several, separated by commas, only where every part between commas is name=value
// with a name by the flag's rule, and there is no line break. Of two values for one name the later counts.
//
// pflag's own map of strings takes brackets, quotes and lines away from values.
type pairs struct {
	isName func(text string) bool
	all    map[string]string
}

// nameRule returns what tells a name after a comma from a piece of the value before it. For environment variables
// it is narrower than Kubernetes's rule, by which "--focus" would be a name.
func nameRule(flag string) func(string) bool {
	switch flag {
	case "label":
		return func(s string) bool { return len(validation.IsQualifiedName(s)) == 0 }
	case "annotation":
		return func(s string) bool { return len(validation.IsQualifiedName(strings.ToLower(s))) == 0 }
	}
	return func(s string) bool { return len(validation.IsCIdentifier(s)) == 0 }
}

// pairsOf returns what a flag of pairs was given.
func pairsOf(fs *pflag.FlagSet, flag string) map[string]string {
	o, ok := fs.Lookup(flag).Value.(*optional)
	if !ok {
		return nil
	}
	p, ok := o.Value.(*pairs)
	if !ok {
		return nil
	}
	return p.all
}

// Set implements pflag.Value.
func (p *pairs) Set(text string) error {
	if p.all == nil {
		p.all = map[string]string{}
	}
	for _, part := range p.split(text) {
		name, value, found := strings.Cut(part, "=")
		if !found || name == "" {
			return fmt.Errorf("%q must be name=value", part)
		}
		p.all[name] = value
	}
	return nil
}

func (p *pairs) split(text string) []string {
	parts := strings.Split(text, ",")
	for _, part := range parts {
		if name, _, found := strings.Cut(part, "="); !found || !p.isName(name) {
			return []string{text}
		}
	}
	if strings.ContainsAny(text, "\r\n") {
		return []string{text}
	}
	return parts
}

// String implements pflag.Value.
func (p *pairs) String() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(p.all)) {
		all = append(all, name+"="+p.all[name])
	}
	return strings.Join(all, ",")
}

// Type implements pflag.Value; help shows it.
func (*pairs) Type() string { return "k=v" }

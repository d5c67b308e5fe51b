package cli

import "github.com/spf13/pflag"

// optional is a flag's value that an empty text leaves as it is: pipelines pass variables that may be empty,
// as in --timeout "${TIMEOUT:-}".
type optional struct {
	pflag.Value
	given bool
}

// Set takes a text unless it is empty.
func (o *optional) Set(text string) error {
	if text == "" {
		return nil
	}
	o.given = true
	return o.Value.Set(text)
}

// emptyIsNotGiven makes every flag that is defined so far optional.
func emptyIsNotGiven(fs *pflag.FlagSet) {
	fs.VisitAll(func(f *pflag.Flag) {
		if f.DefValue == "0s" || f.DefValue == "[]" {
			f.DefValue = "" // so that the help goes on to name no default that is none
		}
		f.Value = &optional{Value: f.Value}
	})
}

// given reports whether an optional flag got a value.
func given(fs *pflag.FlagSet, flag string) bool {
	o, ok := fs.Lookup(flag).Value.(*optional)
	return ok && o.given
}

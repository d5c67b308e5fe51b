package azure

import (
	"regexp"
	"testing"
)

// Two stacks of one resource group share nothing, however alike their names are, and every name of a stack that
// the parameter allows makes names that the services take.
func TestNamesOfStacksDiffer(t *testing.T) {
	rules := map[string]*regexp.Regexp{
		"storage": regexp.MustCompile(`^[a-z0-9]{3,24}$`),
		"vault":   regexp.MustCompile(`^[a-zA-Z](-?[a-zA-Z0-9]){2,23}$`),
		"bus":     regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9-]{4,48}[a-zA-Z0-9]$`),
	}
	seen := map[string]string{}
	for _, stack := range []string{"prowgate-int-east", "prowgate-int-west", "prow-gate-int-east", "aro-hcp-p-int", "abc", "a-long-name-of-stack"} {
		m := load(t, "parameters/int.json")
		m.scope.parameters["name"] = stack
		for variable, rule := range rules {
			v, err := m.scope.look("variables", variable)
			name, _ := v.(string)
			if err != nil || !rule.MatchString(name) || variable == "vault" && len(name) > 24 {
				t.Errorf("%s of %s is called %q: %v", variable, stack, name, err)
			}
			if other := seen[variable+name]; other != "" {
				t.Errorf("%s and %s share the %s %s", stack, other, variable, name)
			}
			seen[variable+name] = stack
		}
	}
}

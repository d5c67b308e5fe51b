package main

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

// mayForward reports whether the template's role of a function may send to the queue that the function's messages come
// from.
func mayForward(t *testing.T, function string) bool {
	t.Helper()
	text, err := os.ReadFile("../../infra/aws/template.json")
	if err != nil {
		t.Fatal(err)
	}
	var template struct {
		Resources map[string]struct {
			Properties struct {
				Policies []struct {
					PolicyDocument struct {
						Statement []struct {
							Action   []string
							Resource []any
						}
					}
				}
			}
		}
	}
	if err := json.Unmarshal(text, &template); err != nil && !strings.Contains(err.Error(), "Go struct field") {
		t.Fatal(err) // policies of other resources have other shapes
	}
	name := strings.ToUpper(function[:1]) + function[1:]
	role := template.Resources[name+"Role"].Properties.Policies
	if len(role) == 0 {
		t.Fatalf("the template has no role for %s", function)
	}
	for _, p := range role {
		for _, s := range p.PolicyDocument.Statement {
			own := func(resource any) bool {
				text, err := json.Marshal(resource)
				return err == nil && string(text) == `{"Fn::GetAtt":["`+name+`Queue","Arn"]}`
			}
			if slices.Contains(s.Action, "sqs:SendMessage") && slices.ContainsFunc(s.Resource, own) {
				return true
			}
		}
	}
	return false
}

// A message that comes before its time is sent on to where it came from only if the role may do that; all others are
// handled at once.
func TestForwardsOnlyWhereTheRoleMaySend(t *testing.T) {
	for _, function := range []string{"submit", "poll", "cancel"} {
		r := newRig()
		r.functions[function], r.byQueue["gate-"+function] = r.function(function), function
		if got := r.invoke(t.Context(), t, record("gate-"+function, "a", `{}`, 1, later)); got != failed() {
			t.Errorf("%s: answer %s", function, got)
		}
		if may := mayForward(t, function); may != (len(r.forwarded) == 1) || may == (len(r.handled) == 1) {
			t.Errorf("%s: may forward: %v; forwarded %v, handled %v", function, may, r.forwarded, r.handled)
		}
	}
}

package azure

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// The group that the template is put into, as far as the tests are concerned.
const (
	subscription = "/subscriptions/5b0f5a0e-0000-4000-8000-000000000001"
	group        = subscription + "/resourceGroups/rg"
	appPrincipal = "5b0f5a0e-0000-4000-8000-00000000000a"
	appClient    = "5b0f5a0e-0000-4000-8000-00000000000c"
)

// call works out one function, those alone that the template uses (learn.microsoft.com, ARM template
// functions). A wrong number or type of arguments is an error.
func (s *scope) call(function string, args []any) (any, error) {
	texts := make([]string, len(args))
	for i, a := range args {
		texts[i], _ = a.(string)
	}
	need := map[string]int{
		"parameters": 1, "variables": 1, "resourceGroup": 0, "subscription": 0, "environment": 0, "toLower": 1,
		"string": 1, "empty": 1, "take": 2, "replace": 3, "if": 3, "createObject": 2, "guid": 3, "subscriptionResourceId": 2, "reference": 1,
	}
	if n, known := need[function]; known && n != len(args) {
		return nil, fmt.Errorf("%s takes %d arguments here, not %d", function, n, len(args))
	}
	switch function {
	case "parameters", "variables":
		return s.look(function, texts[0])
	case "resourceId":
		return s.resourceID(texts)
	case "subscriptionResourceId":
		return subscription + "/providers/" + texts[0] + "/" + texts[1], nil
	case "reference":
		return reference(texts[0])
	case "format":
		return format(texts[0], args[1:])
	case "if":
		if args[0] == true {
			return args[1], nil
		}
		return args[2], nil
	}
	return plain(function, args, texts)
}

// plain are the functions that depend on their arguments alone.
func plain(function string, args []any, texts []string) (any, error) {
	switch function {
	case "resourceGroup":
		return map[string]any{"id": group, "location": "westus3"}, nil
	case "subscription":
		return map[string]any{"tenantId": "5b0f5a0e-0000-4000-8000-00000000000b"}, nil
	case "environment":
		return map[string]any{"suffixes": map[string]any{"storage": "core.windows.net", "keyvaultDns": ".vault.azure.net"}}, nil
	case "uniqueString":
		return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(texts, "-"))))[:13], nil
	case "guid":
		return uuid.NewSHA1(uuid.NameSpaceURL, []byte(strings.Join(texts, "-"))).String(), nil
	case "toLower":
		return strings.ToLower(texts[0]), nil
	case "string":
		return strings.Replace(strings.Replace(fmt.Sprint(args[0]), "true", "True", 1), "false", "False", 1), nil // as ARM writes them
	case "empty":
		return texts[0] == "", nil
	case "take":
		n, _ := args[1].(int)
		return texts[0][:min(n, len(texts[0]))], nil
	case "replace":
		return strings.ReplaceAll(texts[0], texts[1], texts[2]), nil
	case "createArray":
		return append([]any{}, args...), nil
	case "createObject":
		return map[string]any{texts[0]: args[1]}, nil
	}
	return nil, fmt.Errorf("%s: no such function", function)
}

func (s *scope) look(kind, name string) (any, error) {
	from := s.parameters
	if kind == "variables" {
		from = s.variables
	}
	v, ok := from[name]
	if !ok {
		return nil, fmt.Errorf("%s has no %q", kind, name)
	}
	s.used[kind+"."+name] = true
	return s.all(v)
}

// resourceID puts types and names together, segment by segment. The type must be one of the template's: there
// is no other resource that it could mean.
func (s *scope) resourceID(texts []string) (string, error) {
	if len(texts) == 0 || !s.types[texts[0]] {
		return "", fmt.Errorf("no resource of type %q", texts)
	}
	id, err := idOf(texts[0], texts[1:])
	s.resources = append(s.resources, id)
	return id, err
}

// idOf is the id of a resource of this group.
func idOf(kind string, names []string) (string, error) {
	segments := strings.Split(kind, "/")
	if len(segments) != len(names)+1 {
		return "", fmt.Errorf("%s has %d names, not %d", kind, len(segments)-1, len(names))
	}
	id := group + "/providers/" + segments[0]
	for i, n := range names {
		if n == "" || strings.Contains(n, "/") {
			return "", fmt.Errorf("%s: %q is no name", kind, n)
		}
		id += "/" + segments[i+1] + "/" + n
	}
	return id, nil
}

// reference is what the template reads of what it has made.
func reference(id string) (any, error) {
	switch {
	case strings.Contains(id, "/Microsoft.ManagedIdentity/"):
		return map[string]any{"principalId": appPrincipal, "clientId": appClient}, nil
	case strings.Contains(id, "/Microsoft.Insights/components/"):
		return map[string]any{"ConnectionString": "InstrumentationKey=0;IngestionEndpoint=https://a/"}, nil
	}
	return nil, fmt.Errorf("nothing is known of %q", id)
}

// format puts arguments into {0}, {1} and so on; all of them, and no others.
func format(pattern string, args []any) (string, error) {
	for i, a := range args {
		place := fmt.Sprintf("{%d}", i)
		if !strings.Contains(pattern, place) {
			return "", fmt.Errorf("format has no %s", place)
		}
		pattern = strings.ReplaceAll(pattern, place, fmt.Sprint(a))
	}
	if strings.ContainsAny(pattern, "{}") {
		return "", errors.New("format has a place without an argument")
	}
	return pattern, nil
}

package aws_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/awslabs/goformation/v7/schema"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"prowgate/shared/config"
	"prowgate/shared/queue/sqs"
	"prowgate/shared/store/dynamodb"
)

// object is a JSON object.
type object = map[string]any

// template is template.json, as it stands and with its references resolved to the text "${what}".
type template struct {
	raw       object
	resources map[string]object
	mentioned []string // what Ref, Fn::GetAtt and Fn::Sub speak of
}

func readTemplate(t *testing.T) *template {
	t.Helper()
	text, err := os.ReadFile("template.json")
	if err != nil {
		t.Fatal(err)
	}
	tpl := &template{resources: map[string]object{}}
	if err := json.Unmarshal(text, &tpl.raw); err != nil {
		t.Fatal(err)
	}
	resolved, ok := tpl.resolve(tpl.raw).(object)
	if !ok {
		t.Fatal("the template is no object")
	}
	for name, r := range under(resolved, "Resources") {
		tpl.resources[name], _ = r.(object)
	}
	return tpl
}

var variable = regexp.MustCompile(`\$\{([^}]+)\}`)

// resolve returns v with each intrinsic function as a text. Parameters become their defaults.
func (tpl *template) resolve(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = tpl.resolve(v[i])
		}
	case object:
		if name, ok := v["Ref"].(string); ok && len(v) == 1 {
			return tpl.reference(name)
		}
		if path, ok := v["Fn::GetAtt"].([]any); ok && len(v) == 1 {
			return tpl.reference(fmt.Sprint(path[0]) + "." + fmt.Sprint(path[1]))
		}
		if text, ok := v["Fn::Sub"].(string); ok && len(v) == 1 {
			return variable.ReplaceAllStringFunc(text, func(m string) string { return tpl.reference(m[2 : len(m)-1]) })
		}
		out := object{}
		for key, value := range v {
			out[key] = tpl.resolve(value)
		}
		return out
	}
	return v
}

func (tpl *template) reference(name string) string {
	tpl.mentioned = append(tpl.mentioned, name)
	if p, ok := under(tpl.raw, "Parameters")[name].(object); ok {
		if value, ok := p["Default"].(string); ok {
			return value
		}
	}
	return "${" + name + "}"
}

// under follows a path of keys; what is not there is empty.
func under(o object, path ...string) object {
	for _, key := range path {
		o, _ = o[key].(object)
	}
	return o
}

func (tpl *template) ofType(kind string) []string {
	var names []string
	for name, r := range tpl.resources {
		if r["Type"] == kind {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (tpl *template) properties(name string) object { return under(tpl.resources[name], "Properties") }

// queuesOf are the names of the four queues, without those for dead letters.
func queuesOf(tpl *template) []string {
	var names []string
	for _, q := range tpl.ofType("AWS::SQS::Queue") {
		if name := fmt.Sprint(tpl.properties(q)["QueueName"]); !strings.HasSuffix(name, sqs.DeadLetterSuffix) {
			names = append(names, name)
		}
	}
	return names
}

// schemas returns the schema of each type of resource that the template has.
func schemas(t *testing.T, tpl *template) map[string]*jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(schema.SamSchema))
	if err != nil {
		t.Fatal(err)
	}
	compiled := map[string]*jsonschema.Schema{}
	for _, r := range tpl.resources {
		compiled[fmt.Sprint(r["Type"])] = nil
	}
	root, _ := doc.(object)
	definitions := under(root, "definitions")
	maps.DeleteFunc(definitions, func(name string, _ any) bool { // a thousand types that are none of ours
		kind, _, _ := strings.Cut(name, ".")
		_, ours := compiled[kind]
		return !ours && strings.Contains(name, "::")
	})
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft4)
	if err := c.AddResource("sam.json", object{"definitions": definitions}); err != nil {
		t.Fatal(err)
	}
	for kind := range compiled {
		if compiled[kind], err = c.Compile("sam.json#/definitions/" + strings.ReplaceAll(kind, "::", "%3A%3A")); err != nil {
			t.Fatalf("type %s: %v", kind, err)
		}
	}
	return compiled
}

// Every resource keeps to the schema of its type, in which a misspelt property and a wrong type show.
func TestTemplateKeepsToTheSchema(t *testing.T) {
	tpl := readTemplate(t)
	compiled := schemas(t, tpl)
	for name, r := range tpl.resources {
		s := compiled[fmt.Sprint(r["Type"])]
		if err := s.Validate(r); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		broken := maps.Clone(r)
		broken["Properties"] = object{"Misspelt": true}
		if s.Validate(broken) == nil {
			t.Errorf("the schema of %v finds no mistake", r["Type"])
		}
	}
}

func TestEveryReferenceIsThere(t *testing.T) {
	tpl := readTemplate(t)
	used := map[string]bool{}
	for _, name := range tpl.mentioned {
		name, _, _ = strings.Cut(name, ".")
		used[name] = true
		_, parameter := under(tpl.raw, "Parameters")[name]
		if made := strings.TrimSuffix(name, "Url"); tpl.resources[name] == nil && tpl.resources[made] == nil && !parameter && !strings.HasPrefix(name, "AWS::") {
			t.Errorf("%s is not there", name)
		}
	}
	for name := range under(tpl.raw, "Parameters") {
		if !used[name] {
			t.Errorf("the parameter %s is not used", name)
		}
	}
}

func TestQueues(t *testing.T) {
	tpl := readTemplate(t)
	want := map[string]string{}
	for _, s := range config.Describe() {
		if strings.HasSuffix(s.Name, "_QUEUE") {
			want[s.Default] = s.Name
		}
	}
	for _, q := range tpl.ofType("AWS::SQS::Queue") {
		p := tpl.properties(q)
		name := fmt.Sprint(p["QueueName"])
		if p["SqsManagedSseEnabled"] != true || p["MaximumMessageSize"] != float64(1<<20) {
			t.Errorf("%s: %v", q, p)
		}
		if strings.HasSuffix(name, sqs.DeadLetterSuffix) {
			continue
		}
		if want[name] == "" {
			t.Errorf("%s: the program knows no queue %s", q, name)
		}
		delete(want, name)
		target := under(p, "RedrivePolicy")["deadLetterTargetArn"]
		dead := tpl.properties(strings.TrimSuffix(q, "Queue") + "DeadLetter")["QueueName"]
		if target != "${"+strings.TrimSuffix(q, "Queue")+"DeadLetter.Arn}" || dead != name+sqs.DeadLetterSuffix {
			t.Errorf("%s: its dead letters go to %v, called %v", q, target, dead)
		}
		if retention := p["MessageRetentionPeriod"]; strings.Contains(name, "completion") != (retention == float64(24*60*60)) {
			t.Errorf("%s keeps messages for %v s", q, retention)
		}
	}
	if len(want) > 0 {
		t.Errorf("queues that are missing: %v", want)
	}
}

// The table is the one that the adapter's own tests make.
func TestTable(t *testing.T) {
	p := readTemplate(t).properties("Records")
	key := func(sort string) []any {
		return []any{object{"AttributeName": "pk", "KeyType": "HASH"}, object{"AttributeName": sort, "KeyType": "RANGE"}}
	}
	index := []any{object{"IndexName": dynamodb.DueIndex, "KeySchema": key("due"), "Projection": object{"ProjectionType": "KEYS_ONLY"}}}
	if diff := cmp.Diff([]any{key("sk"), index}, []any{p["KeySchema"], p["GlobalSecondaryIndexes"]}); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

func TestSettings(t *testing.T) {
	tpl := readTemplate(t)
	variables := tpl.resolve(under(tpl.raw, "Globals", "Function", "Environment", "Variables")).(object) //nolint:forcetypeassert // a test
	elsewhere := []string{"GANGWAY_TOKEN", "FUNCTIONS_CUSTOMHANDLER_PORT"}                               // one comes from the vault, one is Azure's
	known := map[string]bool{}
	for _, s := range config.Describe() {
		known[s.Name] = true
		if _, set := variables[s.Name]; set == slices.Contains(elsewhere, s.Name) {
			t.Errorf("%s: set %t", s.Name, set)
		}
	}
	for name := range variables {
		if !known[name] {
			t.Errorf("the program has no setting %s", name)
		}
	}
	for name, want := range map[string]string{
		"SUBMIT_QUEUE": "${SubmitQueue.QueueName}", "POLL_QUEUE": "${PollQueue.QueueName}", "CANCEL_QUEUE": "${CancelQueue.QueueName}",
		"COMPLETION_QUEUE": "${CompletionQueue.QueueName}", "STORE_URL": "dynamodb:${Records}",
	} {
		if variables[name] != want {
			t.Errorf("%s is %v, want %s", name, variables[name], want)
		}
	}
}

func TestFunctions(t *testing.T) {
	tpl := readTemplate(t)
	general := under(tpl.raw, "Globals", "Function")
	if general["Handler"] != "bootstrap" || general["Runtime"] != "provided.al2023" {
		t.Errorf("globals: %v", general)
	}
	timeout, _ := general["Timeout"].(float64)
	code, err := os.ReadFile("../../functions/lambda/batch.go")
	if err != nil || !strings.Contains(string(code), "atOnce = 5\n") {
		t.Errorf("the program no longer handles 5 messages at once: %v", err)
	}
	for _, f := range []string{"Submit", "Poll", "Cancel"} {
		p := tpl.properties(f + "Source")
		// A batch is handled all at once and never fails as a whole.
		if p["EventSourceArn"] != "${"+f+"Queue.Arn}" || p["FunctionName"] != "${"+f+"Function}" || p["BatchSize"] != 5.0 ||
			fmt.Sprint(p["FunctionResponseTypes"]) != "[ReportBatchItemFailures]" {
			t.Errorf("%s: %v", f, p)
		}
		// SQS must not hand a message to a second invocation while the first may still run.
		if visible, _ := tpl.properties(f + "Queue")["VisibilityTimeout"].(float64); visible < timeout+60 {
			t.Errorf("%s: hidden for %v s, while an invocation may take %v s", f, visible, timeout)
		}
	}
	tick := under(tpl.properties("SweepFunction"), "Events", "EveryMinute")
	if tick["Type"] != "Schedule" || under(tick, "Properties")["Schedule"] != "rate(1 minute)" {
		t.Errorf("sweep: %v", tick)
	}
	if url := under(tpl.properties("StatusFunction"), "FunctionUrlConfig"); url["AuthType"] != "AWS_IAM" {
		t.Errorf("status: %v", url)
	}
	if got := tpl.ofType("AWS::Serverless::Function"); len(got) != 5 {
		t.Errorf("functions: %v", got)
	}
}

// rights returns what a policy document allows, "action resource", and wants every statement to name both.
func rights(t *testing.T, document object) []string {
	t.Helper()
	var all []string
	statements, _ := document["Statement"].([]any)
	for _, s := range statements {
		s, _ := s.(object)
		actions, _ := s["Action"].([]any)
		resources, _ := s["Resource"].([]any)
		if s["Effect"] != "Allow" || len(actions) == 0 || len(resources) == 0 {
			t.Errorf("statement %v", s)
		}
		for _, a := range actions {
			for _, r := range resources {
				if strings.Contains(fmt.Sprint(a), "*") || fmt.Sprint(r) == "*" {
					t.Errorf("%v on %v is too much", a, r)
				}
				right := fmt.Sprint(a, " ", r)
				if c, ok := s["Condition"]; ok {
					right += fmt.Sprint(" if ", c)
				}
				all = append(all, right)
			}
		}
	}
	slices.Sort(all)
	return all
}

// A role has the rights that its function uses, each of them and no other.
func TestRights(t *testing.T) {
	on := func(resource string, actions ...string) (all []string) {
		for _, a := range actions {
			all = append(all, a+" "+resource)
		}
		return all
	}
	tpl := readTemplate(t)
	for _, f := range []string{"Submit", "Poll", "Cancel", "Sweep", "Status"} {
		want := on("${"+f+"Log.Arn}", "logs:CreateLogStream", "logs:PutLogEvents")
		switch f {
		case "Status":
			want = append(want, on("${Records.Arn}", "dynamodb:GetItem", "dynamodb:Query")...)
		case "Sweep": // finds what is due, puts it back on its queue, removes what is old
			want = slices.Concat(want, on("${Records.Arn}", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:DeleteItem"),
				on("${Records.Arn}/index/"+dynamodb.DueIndex, "dynamodb:Query"))
		default: // what an event source mapping needs, and giving back early; the token
			want = slices.Concat(want, on("${Records.Arn}", "dynamodb:GetItem", "dynamodb:PutItem"), on("${TokenSecretArn}", "secretsmanager:GetSecretValue"),
				on("${"+f+"Queue.Arn}", "sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ChangeMessageVisibility"))
		}
		if f != "Status" {
			want = slices.Concat(want, on("${PollQueue.Arn}", "sqs:SendMessage"), on("${CompletionQueue.Arn}", "sqs:SendMessage"))
		}
		slices.Sort(want)
		var got []string
		policies, _ := tpl.properties(f + "Role")["Policies"].([]any)
		for _, p := range policies {
			p, _ := p.(object)
			got = append(got, rights(t, under(p, "PolicyDocument"))...)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-needed +given):\n%s", f, diff)
		}
		if role := tpl.properties(f + "Function")["Role"]; role != "${"+f+"Role.Arn}" {
			t.Errorf("%s runs as %v", f, role)
		}
	}
	for name, want := range map[string][]string{
		"PipelinePolicy": slices.Concat([]string{"lambda:InvokeFunction ${StatusFunction.Arn} if map[Bool:map[lambda:InvokedViaFunctionUrl:true]]"},
			on("${StatusFunction.Arn}", "lambda:InvokeFunctionUrl"),
			on("${CancelQueue.Arn}", "sqs:SendMessage"), on("${SubmitQueue.Arn}", "sqs:SendMessage")),
		"CompletionReaderPolicy": on("${CompletionQueue.Arn}", "sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:ReceiveMessage"),
	} {
		if diff := cmp.Diff(want, rights(t, under(tpl.properties(name), "PolicyDocument"))); diff != "" {
			t.Errorf("%s (-needed +given):\n%s", name, diff)
		}
	}
}

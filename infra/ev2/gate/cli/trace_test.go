package cli_test

import "testing"

// Every message that a command sends carries its trace: the caller's, or one of its own.
func TestMessagesCarryTheTrace(t *testing.T) {
	const own = "00-11111111222233334444555555555555-4444555555555555-01"
	const callers = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for given, want := range map[string]string{
		"": own, callers: callers, " " + callers + "\n": callers, "nonsense": own, "00-0AF7-1-01": own,
	} {
		for _, args := range [][]string{least, {"cancel", "--gate-id", "g-1"}, {"abort", "--execution-id", "e-1"}} {
			bubble(t, func(d *desk) {
				d.settings.TraceParent = given
				d.queues.answer = `{"kind":"completion","outcome":"succeeded","passed":true}`
				d.run(0, args...)
				if len(d.queues.sent) == 0 {
					t.Fatalf("%q sent nothing", args)
				}
				for _, m := range d.queues.sent {
					if m.Trace != want {
						t.Errorf("%s with TRACEPARENT %q: trace %q", args[0], given, m.Trace)
					}
				}
			})
		}
	}
}

package conformance

import (
	"io"
	"os"
	"slices"
	"testing"

	"github.com/sirupsen/logrus"

	"prowgate/gangway/conformance/upstream"
)

func TestMain(m *testing.M) {
	logrus.SetOutput(io.Discard) // Prow logs each request
	os.Exit(m.Run())
}

// check is one thing that both servers must do alike.
type check struct {
	name string
	run  func(*server)
}

// onBoth runs each check on a fresh stand-in and on a fresh upstream server.
func onBoth(t *testing.T, c upstream.Catalog, checks []check, prepare func(*server)) {
	starts := []struct {
		name  string
		start func(*testing.T, upstream.Catalog) *server
	}{{"stand-in", startStandIn}, {"upstream", startUpstream}}
	for _, check := range checks {
		for _, side := range starts {
			t.Run(check.name+"/"+side.name, func(t *testing.T) {
				s := side.start(t, c)
				prepare(s)
				check.run(s)
			})
		}
	}
}

func TestConformance(t *testing.T) {
	onBoth(t, catalog(), slices.Concat(createChecks(), readChecks(), bulkChecks()), func(*server) {})
}

// Jobs of a Prow with a scheduler begin in another state.
func TestConformanceWithScheduler(t *testing.T) {
	onBoth(t, upstream.Catalog{Jobs: catalog().Jobs, Scheduling: true}, schedulingChecks(), func(*server) {})
}

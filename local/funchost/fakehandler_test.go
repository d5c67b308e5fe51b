package funchost

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
)

// The test binary is also the handler, and the host that is to be killed, when it is told so.
const (
	actAs   = "FUNCHOST_TEST_ACT_AS"
	callTo  = "FUNCHOST_TEST_CALL"   // address that a handler connects to for as long as it lives
	countIn = "FUNCHOST_TEST_STARTS" // file to which every start adds a line
	dirFor  = "FUNCHOST_TEST_DIR"
)

func TestMain(m *testing.M) {
	switch act := os.Getenv(actAs); act {
	case "":
		os.Exit(m.Run())
	case "host":
		os.Exit(actAsHost())
	default:
		os.Exit(actAsHandler(act))
	}
}

// actAsHandler is a handler with one habit.
func actAsHandler(habit string) int {
	starts := noteStart()
	var call io.Reader
	if address := os.Getenv(callTo); address != "" {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return 90
		}
		defer conn.Close()
		call = conn
	}
	switch habit {
	case "exit-0":
		return 0
	case "exit-3":
		return 3
	case "exit-200-once":
		if starts == 1 {
			return 200
		}
	case "silent":
		select {}
	}
	err := http.ListenAndServe("127.0.0.1:"+os.Getenv(portSetting), habitHandler(habit, starts, call))
	fmt.Fprintln(os.Stderr, err)
	return 91
}

func habitHandler(habit string, starts int, call io.Reader) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	mux.HandleFunc("POST /work", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Println("working")
		if habit == "die-once" && starts == 1 {
			os.Exit(7)
		}
		if habit == "hang-once" && starts == 1 {
			select {}
		}
		if habit == "told" { // answers when the other end of its call has ended
			_, _ = io.Copy(io.Discard, call) // an end of any kind will do
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"Outputs":{},"Logs":["done"],"ReturnValue":null}`)
	})
	return mux
}

// noteStart counts the starts of handlers of one test.
func noteStart() int {
	f, err := os.OpenFile(os.Getenv(countIn), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return 0
	}
	defer f.Close()
	fmt.Fprintln(f, "started")
	body, err := os.ReadFile(f.Name())
	if err != nil {
		return 0
	}
	return strings.Count(string(body), "\n")
}

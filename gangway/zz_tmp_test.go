package gangway

import ("testing";"math/rand";"time")

func TestZZ(t *testing.T) {
	r := rand.New(rand.NewSource(1)); worst := time.Duration(0); var w []byte; n := 0
	for range 40000 {
		b := []byte(aProwJob)
		for range 1 + r.Intn(6) {
			i := r.Intn(len(b))
			switch r.Intn(3) { case 0: b[i] = "{}[]&*:-\n\" !|>#%@`'?,"[r.Intn(21)]; case 1: b = b[:i+copy(b[i:], b[min(i+1+r.Intn(9), len(b)):])]; case 2: j := r.Intn(len(b)); b = append(b[:i:i], append([]byte(nil), b[min(i,j):]...)...) }
			if len(b) == 0 { b = []byte("x") }
		}
		s := time.Now(); _, _ = ParseProwJob(b); if d := time.Since(s); d > worst { worst, w = d, b }; n++
	}
	t.Logf("%d worst %v len %d", n, worst, len(w))
}

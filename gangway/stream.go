package gangway

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"prowgate/gangway/prow"
)

var (
	errNoItems   = errors.New("the list has no items")
	errTwice     = errors.New("the list has items twice")
	errTrailing  = errors.New("something follows the list")
	errNotObject = errors.New("not a list of jobs")
)

// decodeJobs reads {"items":[...]}, one job at a time, and returns those that keep wants and how many there
// were. A list that ends early, lacks items, or holds anything that is not a ProwJob is an error: a missing
// job must not pass for a job that does not exist. An answer with items null is one as well.
func decodeJobs(r io.Reader, keep func(prow.Job) bool) (jobs []prow.Job, seen int, err error) {
	return decodeBounded(&allowance{in: r, perValue: maxListItem, total: maxListing}, keep)
}

func decodeBounded(in *allowance, keep func(prow.Job) bool) (jobs []prow.Job, seen int, err error) {
	d := &jobDecoder{in: in, dec: json.NewDecoder(in), keep: keep}
	if err := d.document(); err != nil {
		return nil, d.seen, err
	}
	return d.jobs, d.seen, nil
}

type jobDecoder struct {
	in   *allowance
	dec  *json.Decoder
	keep func(prow.Job) bool
	jobs []prow.Job
	seen int
}

func (d *jobDecoder) document() error {
	if err := d.expect('{', errNotObject); err != nil {
		return err
	}
	found := false
	for d.more() {
		key, err := d.token()
		if err != nil {
			return cut(err)
		}
		if key != "items" {
			err = d.skip()
		} else if found {
			err = errTwice
		} else {
			found, err = true, d.items()
		}
		if err != nil {
			return err
		}
	}
	if err := d.expect('}', errNotObject); err != nil {
		return err
	}
	if !found {
		return errNoItems
	}
	return d.end()
}

func (d *jobDecoder) items() error {
	if err := d.expect('[', errNoItems); err != nil {
		return err
	}
	for d.more() {
		if err := d.item(); err != nil {
			return err
		}
	}
	return d.expect(']', errNotObject)
}

func (d *jobDecoder) item() error {
	var w wireJob
	if err := d.dec.Decode(&w); err != nil {
		return cut(err)
	}
	j, err := w.job()
	if err != nil {
		return err
	}
	d.seen++
	if d.keep == nil || d.keep(j) {
		d.jobs = append(d.jobs, j)
	}
	return nil
}

// more reports whether another value follows, and allows for its size.
func (d *jobDecoder) more() bool {
	d.in.value = d.in.perValue
	return d.dec.More()
}

func (d *jobDecoder) token() (json.Token, error) {
	d.in.value = d.in.perValue
	return d.dec.Token()
}

func (d *jobDecoder) skip() error {
	var unread json.RawMessage
	return cut(d.dec.Decode(&unread))
}

func (d *jobDecoder) expect(want json.Delim, otherwise error) error {
	t, err := d.token()
	if err != nil {
		return cut(err)
	}
	if t != want {
		return otherwise
	}
	return nil
}

func (d *jobDecoder) end() error {
	_, err := d.token()
	switch {
	case err == nil:
		return errTrailing
	case errors.Is(err, io.EOF):
		return nil
	}
	return cut(err)
}

// cut makes the end of the input in the middle of the list an error like any other.
func cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the list was cut off: %w", io.ErrUnexpectedEOF)
	}
	return err
}

// allowance bounds what is read for one value, which the decoder holds in memory, and in all. Both limits
// are soft by what the decoder has read ahead.
type allowance struct {
	in       io.Reader
	perValue int64
	value    int64 // what is left for the value being read
	total    int64 // what is left in all
}

func (a *allowance) Read(p []byte) (int, error) {
	if a.value <= 0 || a.total <= 0 {
		return 0, errTooLarge
	}
	n, err := a.in.Read(p[:min(int64(len(p)), a.value, a.total)])
	a.value -= int64(n)
	a.total -= int64(n)
	return n, err
}

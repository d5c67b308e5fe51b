package main

import (
	"io"
	"net"
	"sync"
	"testing"
)

// door stands before a broker. Shut, it cuts and refuses connections, as a broker does that restarts.
type door struct {
	listener net.Listener
	behind   string
	refused  chan struct{} // one for each connection that was refused, while there is room

	mu     sync.Mutex
	isShut bool
	inside []net.Conn
}

func openDoor(t *testing.T, behind string) *door {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &door{listener: l, behind: behind, refused: make(chan struct{}, 1)}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			d.enter(c)
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		d.shut()
	})
	return d
}

func (d *door) enter(c net.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.isShut {
		_ = c.Close()
		select {
		case d.refused <- struct{}{}:
		default:
		}
		return
	}
	b, err := net.Dial("tcp", d.behind)
	if err != nil {
		_ = c.Close()
		return
	}
	d.inside = append(d.inside, c, b)
	for _, way := range [][2]net.Conn{{b, c}, {c, b}} {
		go func() {
			_, _ = io.Copy(way[0], way[1])
			_ = way[0].Close()
		}()
	}
}

func (d *door) shut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.isShut = true
	for _, c := range d.inside {
		_ = c.Close()
	}
	d.inside = nil
}

func (d *door) open() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.isShut = false
}

package queuetest

import (
	"bytes"
	"strings"

	"github.com/google/go-cmp/cmp"

	"prowgate/shared/fault"
	"prowgate/shared/queue"
)

// hostileBodies are bodies that some encoding on the way could take for something else, or not take at all.
func hostileBodies() []string {
	return []string{
		"\x00", "\xff\xfe", "\xef\xbb\xbf{}", "=", "=aGk=", "aGVsbG8=", `"a string"`, `"\"twice\""`, "null", "0", " ", "\r\n\r\n", "\u2028", "\ufffe",
		"<a>&amp;</a>", "%41+b", "a=1&b=2", "--boundary--", "\x1b[31m", "{\"a\":\x7f}", "\xed\xa0\x80",
	}
}

// hostileIDs are ids of which some store or protocol could make another one.
func hostileIDs() []string {
	return []string{
		"'", "''; --", "%41", "a/b", "a?b#c", `a"b\c`, "é", "e\u0301", "日本語", "a b", " a", "a ", "=", "null", "0", "$x", "{}",
		strings.Repeat("i", 128), strings.Repeat("é", 128),
	}
}

func hostileContent(b *bench) {
	for _, body := range hostileBodies() {
		sent := queue.Message{ID: "body", ContentType: queue.ContentType, Body: []byte(body)}
		b.send(b.Plain, sent)
		got := b.receive(b.Plain)
		if !bytes.Equal(got.Body, sent.Body) {
			b.Errorf("the body %q became %q", body, got.Body)
		}
		b.complete(b.Plain, got)
	}
	for _, id := range hostileIDs() {
		sent := queue.Message{ID: id, ContentType: queue.ContentType, Body: []byte(`{}`)}
		b.send(b.Plain, sent)
		got := b.receive(b.Plain)
		if diff := cmp.Diff(sent, got.Message); diff != "" {
			b.Errorf("the message %q (-sent +received):\n%s", id, diff)
		}
		b.complete(b.Plain, got)
	}
	b.none(b.Plain)
}

func supplementary(b *bench) {
	b.need(Supplementary)
	sent := queue.Message{ID: "🚢", ContentType: queue.ContentType, Body: []byte(`"` + strings.Repeat("🚢", 1000) + "\U0010ffff\"")}
	b.send(b.Plain, sent)
	got := b.receive(b.Plain)
	if diff := cmp.Diff(sent, got.Message); diff != "" {
		b.Errorf("-sent +received:\n%s", diff)
	}
	b.complete(b.Plain, got)
}

// controlCharacters in an id arrive as they are, or are refused before anything is sent.
func controlCharacters(b *bench) {
	for _, id := range []string{"\x00", "a\nb", "a\r\nX-Evil: 1", "\x1b", "\x7f"} {
		err := b.Sender.Send(b.ctx, b.Plain, queue.Message{ID: id, Body: []byte(`{}`)})
		if fault.Is(err, fault.Refused) {
			continue
		}
		if err != nil {
			b.Fatalf("send %q: %v", id, err)
		}
		b.take(b.Plain, id)
	}
	b.none(b.Plain)
}

// largest sends the largest body that is surely taken, of bytes that no compression makes smaller.
func largest(b *bench) {
	body := make([]byte, 250<<10)
	for i, x := 0, uint32(1); i < len(body); i++ {
		x = x*1664525 + 1013904223
		body[i] = byte(x >> 24)
	}
	b.send(b.Plain, queue.Message{ID: strings.Repeat("é", 128), CorrelationID: strings.Repeat("c", 128), Body: body})
	d := b.receive(b.Plain)
	if !bytes.Equal(d.Body, body) {
		b.Errorf("%d bytes became %d others", len(body), len(d.Body))
	}
	b.complete(b.Plain, d)
}

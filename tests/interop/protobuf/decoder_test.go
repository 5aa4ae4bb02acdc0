package protobuf

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"testing"

	"kubetape.test/filter"
)

// decoder is kubetape's decoder, running as a filter (decode_main.c).
type decoder struct {
	in  *bufio.Writer
	out *bufio.Reader
}

func startDecoder(t *testing.T) *decoder {
	t.Helper()
	in, out := filter.Start(t, "KUBETAPE_PROTOBUF_DECODE", "protobuf_decode")
	return &decoder{bufio.NewWriter(in), bufio.NewReader(out)}
}

// decode returns the JSON of a body, or the sentence that refuses it.
func (d *decoder) decode(body []byte) ([]byte, error) {
	d.in.Write(binary.BigEndian.AppendUint32(nil, uint32(len(body))))
	d.in.Write(body)
	if err := d.in.Flush(); err != nil {
		return nil, err
	}
	head := make([]byte, 5)
	if _, err := io.ReadFull(d.out, head); err != nil {
		return nil, err
	}
	text := make([]byte, binary.BigEndian.Uint32(head[1:]))
	if _, err := io.ReadFull(d.out, text); err != nil {
		return nil, err
	}
	if head[0] != 'J' {
		return nil, errors.New(string(text))
	}
	return text, nil
}

package protobuf

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// decoder is kubetape's decoder, running as a filter (decode_main.c).
type decoder struct {
	in  *bufio.Writer
	out *bufio.Reader
}

func startDecoder(t *testing.T) *decoder {
	t.Helper()
	path := os.Getenv("KUBETAPE_PROTOBUF_DECODE")
	if path == "" {
		path = filepath.Join("..", "..", "..", "build", "protobuf_decode")
	}
	cmd := exec.Command(path)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v: run make build/protobuf_decode first", err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the decoder ended with %v", err)
		}
	})
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

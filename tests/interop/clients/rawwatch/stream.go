package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// stream follows one resource in all namespaces.
type stream struct {
	client   *http.Client
	server   string
	resource resource
	options  options

	items, lines *os.File
	last         string // resourceVersion to go on from
}

// meta is the little that rawwatch reads of what it receives.
type meta struct {
	ResourceVersion string `json:"resourceVersion"`
	Continue        string `json:"continue"`
}

// follow lists, watches and watches again where a watch ended, until the context ends. opened is called when the
// first watch has been accepted.
func (s *stream) follow(ctx context.Context, opened func()) error {
	if err := s.create(); err != nil {
		return err
	}
	defer s.items.Close()
	defer s.lines.Close()
	if err := s.list(ctx); err != nil {
		return ignoreEnd(ctx, err)
	}
	for ctx.Err() == nil {
		if err := s.watch(ctx, opened); err != nil {
			return ignoreEnd(ctx, err)
		}
		pause(ctx, 100*time.Millisecond)
	}
	return nil
}

func (s *stream) create() error {
	var err error
	base := filepath.Join(s.options.folder, s.resource.name())
	if s.items, err = os.Create(base + ".items"); err != nil {
		return err
	}
	s.lines, err = os.Create(base + ".lines")
	return err
}

// list writes the items of all pages and the file that describes the stream.
func (s *stream) list(ctx context.Context) error {
	token := ""
	for {
		query := url.Values{"limit": {strconv.Itoa(s.options.page)}}
		if token != "" {
			query.Set("continue", token)
		}
		var page struct {
			Metadata meta              `json:"metadata"`
			Items    []json.RawMessage `json:"items"`
		}
		if err := s.getJSON(ctx, query, &page); err != nil {
			return err
		}
		for _, item := range page.Items {
			if _, err := s.items.Write(append(item, '\n')); err != nil {
				return err
			}
		}
		if token = page.Metadata.Continue; token == "" {
			s.last = page.Metadata.ResourceVersion
			return s.describe()
		}
	}
}

func (s *stream) describe() error {
	text, err := json.Marshal(map[string]string{"group": s.resource.Group, "version": s.resource.Version,
		"resource": s.resource.Resource, "kind": s.resource.kind, "listResourceVersion": s.last})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.options.folder, s.resource.name()+".json"), text, 0o600)
}

// watch holds one watch until it ends. The error is nil where another watch can take over without loss.
func (s *stream) watch(ctx context.Context, opened func()) error {
	query := url.Values{"watch": {"1"}, "allowWatchBookmarks": {"true"}, "resourceVersion": {s.last}}
	if t := s.options.timeout; t > 0 {
		query.Set("timeoutSeconds", strconv.Itoa(int(t/time.Second)))
	}
	body, err := s.get(ctx, query)
	if err != nil {
		return err
	}
	defer body.Close()
	opened()
	reader := bufio.NewReaderSize(body, 1<<16)
	for {
		line, err := reader.ReadBytes('\n')
		if err != nil {
			return nil // an unfinished line was no event: the next watch brings it whole
		}
		if err := s.take(line); err != nil {
			return err
		}
	}
}

func (s *stream) take(line []byte) error {
	var event struct {
		Type   string `json:"type"`
		Object struct {
			Metadata meta `json:"metadata"`
		} `json:"object"`
	}
	if err := json.Unmarshal(line, &event); err != nil {
		return fmt.Errorf("line that is no event: %w: %q", err, bytes.TrimSpace(line))
	}
	if event.Type == "ERROR" || event.Object.Metadata.ResourceVersion == "" {
		return fmt.Errorf("watch that cannot go on: %s", bytes.TrimSpace(line))
	}
	s.last = event.Object.Metadata.ResourceVersion
	_, err := s.lines.Write(line)
	return err
}

func (s *stream) getJSON(ctx context.Context, query url.Values, into any) error {
	body, err := s.get(ctx, query)
	if err != nil {
		return err
	}
	defer body.Close()
	return json.NewDecoder(body).Decode(into)
}

func (s *stream) get(ctx context.Context, query url.Values) (io.ReadCloser, error) {
	path := "/apis/" + s.resource.Group + "/"
	if s.resource.Group == "" {
		path = "/api/"
	}
	address := s.server + path + s.resource.Version + "/" + s.resource.Resource + "?" + query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	answer, err := s.client.Do(request)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		defer answer.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 4096))
		return nil, fmt.Errorf("%s: %s: %s", address, answer.Status, text)
	}
	return answer.Body, nil
}

// ignoreEnd drops an error that is only the end that was asked for.
func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

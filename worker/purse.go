package worker

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"waymark/engine/plan"
	"waymark/pipeline"
	"waymark/plugin/egress"
	"waymark/plugin/postgres"
	"waymark/worker/secrets"
)

// Keeper decides who gets which secret of this process.
func (p Planner) Keeper() secrets.Keeper {
	keeper := secrets.Keeper{Folder: p.SecretsDir, Server: p.Secrets != nil}
	if keeper.Server {
		keeper.Rules = *p.Secrets
	}
	return keeper
}

// Bound returns a secret by which somebody is known who posts to a pipeline's triggers. Its error names the
// secret and the cure, and never holds a value.
func (p Planner) Bound(pipeline, name string) (string, error) {
	return p.Keeper().Bound(pipeline, name)
}

// standing returns what stands behind a document: the operator puts documents into the served folder, under the
// names of their pipelines.
func (p Planner) standing(request plan.Request, name string) plan.Standing {
	if request.Standing != plan.Stranger || p.Served == "" || !filepath.IsLocal(name) {
		return request.Standing
	}
	for _, path := range []string{filepath.Join(p.Served, name+".yaml"), filepath.Join(p.Served, name,
		"pipeline.yaml")} {
		if served, err := os.ReadFile(path); err == nil && bytes.Equal(served, request.Document) {
			return plan.Recorded
		}
	}
	return plan.Stranger
}

// purse is the secrets of one document while it is compiled.
type purse struct {
	keeper   secrets.Keeper
	standing func(pipeline string) plan.Standing
	owner    secrets.Owner
	refused  map[string]error // by name, why the document does not get a secret: that is said where it was to go
}

func (p Planner) purse(request plan.Request) *purse {
	standing, known := plan.Stranger, ""
	return &purse{keeper: p.Keeper(), refused: map[string]error{}, standing: func(pipeline string) plan.Standing {
		if known != pipeline {
			standing, known = p.standing(request, pipeline), pipeline
		}
		return standing
	}}
}

// withheld stands in the place of a secret that the document does not get. It is compiled no further than where
// that is said.
const withheld = "withheld"

// value is Secret of pipeline.Environment.
func (w *purse) value(name, secret string) (string, error) {
	w.owner.Pipeline = name
	if err := w.keeper.Standing(name, secret, w.standing(name)); err != nil {
		w.refused[secret] = err
		return withheld, nil //nolint:nilerr // cargo says it, with the place
	}
	value, err := w.keeper.Value(w.owner, secret)
	if refused := (*secrets.RefusedError)(nil); errors.As(err, &refused) {
		w.refused[secret] = err
		return withheld, nil
	}
	return value, err
}

// held returns why nothing that the document names is told what lets this process in; nil if it is.
func (w *purse) held(doc *pipeline.Document) error {
	return w.keeper.Held(w.standing(doc.Pipeline.Name))
}

// cargo is Cargo of formats.Formats.
func (w *purse) cargo(doc *pipeline.Document, at string) (cargo egress.Cargo, err error) {
	for _, secret := range doc.SecretsAt(at) {
		option, places, chosen := way(doc, at, secret.Path)
		if err := tells(doc, secret.Path); err != nil {
			return cargo, fmt.Errorf("%s: %w", option, err)
		}
		err := w.refused[secret.Name]
		if refused := (*secrets.RefusedError)(nil); errors.As(err, &refused) {
			told := *refused
			told.Places, err = places, &told
		} else if err == nil {
			err = w.keeper.Leave(w.owner, secret.Name, secret.Value, secrets.Way{Places: places, Chosen: chosen})
		}
		if err != nil {
			return cargo, fmt.Errorf("%s: %w", option, err)
		}
		cargo.Secrets = append(cargo.Secrets, secret.Name)
	}
	cargo.Held = w.held(doc)
	return cargo, nil
}

// tells refuses secrets that would say where a database is, or how it is called: that is recorded and shown, and name
// servers are asked for it. An address that is a secret as a whole was put there to be used so.
func tells(doc *pipeline.Document, path string) error {
	text, _ := doc.Expanded(path)
	told, err := postgres.Told(text)
	if err != nil || strings.Contains(path, ".http.headers") {
		return nil //nolint:nilerr // who reads it says what is wrong with it
	}
	if without, err := postgres.Told(doc.Bare(path)); err == nil && without == told {
		return nil
	}
	for _, secret := range doc.SecretsAt(path) {
		if whole, err := postgres.Told(secret.Value); err == nil && whole == told {
			return nil
		}
	}
	return errors.New("the host, the port and the name of a database are recorded and shown, so no secret can be in " +
		"them: write them out, or have the whole address in one secret")
}

// way returns where a secret in a text of a source or sink goes: the option that has it, the places, and whether
// who starts a run chooses them.
func way(doc *pipeline.Document, at, path string) (option string, places []string, chosen bool) {
	option = strings.TrimPrefix(path, at+".")
	address, placesOf := path, func(text string) []string {
		places, _ := postgres.Places(text) // what is none is refused by who reads it
		return places
	}
	if before, _, web := strings.Cut(path, ".http.headers"); web {
		option, address = strings.TrimPrefix(before, at+".")+".http", before+".path"
		placesOf = func(text string) []string {
			if at, err := url.Parse(text); err == nil {
				return []string{secrets.PlaceOf(at)}
			}
			return nil
		}
	}
	text, unvaried := doc.Expanded(address)
	places = placesOf(text)
	return option, places, !slices.Equal(places, placesOf(unvaried))
}

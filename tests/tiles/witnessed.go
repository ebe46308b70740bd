package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/transparency-dev/tessera"
	"github.com/transparency-dev/tessera/storage/posix"
	"golang.org/x/mod/sumdb/note"
)

// witnessesOf reads the witnesses of a policy, and which of them must cosign.
func witnessesOf(policyFile string) (tessera.WitnessGroup, error) {
	policy, err := os.ReadFile(policyFile)
	if err != nil {
		return tessera.WitnessGroup{}, err
	}
	return tessera.NewWitnessGroupFromPolicy(policy)
}

// checkHead verifies that a head is signed by a log, and cosigned as a policy asks.
func checkHead(_ context.Context, policyFile, key, headFile string) error {
	witnesses, err := witnessesOf(policyFile)
	if err != nil {
		return err
	}
	head, err := os.ReadFile(headFile)
	if err != nil {
		return err
	}
	log, err := note.NewVerifier(key)
	if err != nil {
		return err
	}
	if _, err := note.Open(head, note.VerifierList(log)); err != nil {
		return err
	}
	if !witnesses.Satisfied(head) {
		return errors.New("the policy requires more cosignatures")
	}
	return nil
}

// keepLog makes a log of tessera's in a folder, which publishes a head only if the witnesses of a policy cosigned it, and adds entries to it.
func keepLog(ctx context.Context, policyFile, keyFile, folder string) (err error) {
	witnesses, err := witnessesOf(policyFile)
	if err != nil {
		return err
	}
	secret, err := os.ReadFile(keyFile)
	if err != nil {
		return err
	}
	signer, err := note.NewSigner(string(secret[:len(secret)-1]))
	if err != nil {
		return err
	}
	driver, err := posix.New(ctx, posix.Config{Path: folder})
	if err != nil {
		return err
	}
	options := tessera.NewAppendOptions().WithCheckpointSigner(signer).WithCheckpointInterval(100*time.Millisecond).WithBatching(1, 10*time.Millisecond).WithWitnesses(witnesses, nil)
	appender, shutdown, reader, err := tessera.NewAppender(ctx, driver, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shutdown(ctx)) }()
	published := tessera.NewPublicationAwaiter(ctx, reader.ReadCheckpoint, 20*time.Millisecond)
	for i := range 3 {
		_, head, err := published.Await(ctx, appender.Add(ctx, tessera.NewEntry(fmt.Appendf(nil, "entry %d", i))))
		if err != nil {
			return err
		}
		fmt.Printf("%s\n", head)
	}
	return nil
}

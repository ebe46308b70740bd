// Package sshagent talks to the ssh-agent of the person who runs the program.
package sshagent

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/crypto/ssh/agent"
)

// dialPatience is how long an agent may take to answer at all.
const dialPatience = 10 * time.Second

// With calls do with the ssh-agent of $SSH_AUTH_SOCK, which may take that long. The agent is not to be used afterwards. The error says if there is no agent.
func With(patience time.Duration, do func(agent.Agent) error) (err error) {
	socket := os.Getenv("SSH_AUTH_SOCK")
	if socket == "" {
		return errors.New("no ssh-agent: SSH_AUTH_SOCK is not set")
	}
	connection, err := net.DialTimeout("unix", socket, dialPatience)
	if err != nil {
		return fmt.Errorf("no ssh-agent: %w", err)
	}
	defer func() { err = errors.Join(err, connection.Close()) }()
	if err := connection.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	return do(agent.NewClient(connection))
}

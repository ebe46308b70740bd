package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	sdk "go.temporal.io/sdk/client"

	"waymark/internal/temporal/embedded"
	"waymark/workflows"
)

const (
	stateFolder = ".waymark"   // where the binary keeps its state unless it is told otherwise
	sourceFile  = "orders.csv" // as the documents name it
)

// figures are what one run cost.
type figures struct {
	job            string
	rows           int
	sourceBytes    int64
	seconds        float64 // from the start of the process to its end
	cpuSeconds     float64
	peakBytes      int64 // resident memory of the process
	landscapeBytes int64
	payloadBytes   int64
	events         int64 // in the workflow's history
	verify         cost  // of verifying the run
}

// cost is what a process took.
type cost struct {
	seconds    float64 // from its start to its end
	cpuSeconds float64
	peakBytes  int64 // resident memory
}

func (f figures) print() {
	rows := float64(f.rows)
	fmt.Printf("%s, %d rows × 10 columns, %d MB: %.2f s, %.0f rows/s, %.1f CPU seconds, peak memory %d MB\n",
		f.job, f.rows, f.sourceBytes>>20, f.seconds, rows/f.seconds, f.cpuSeconds, f.peakBytes>>20)
	fmt.Printf("  landscape %.0f bytes/row, payloads %.0f bytes/row, workflow history %.0f events per million rows\n",
		float64(f.landscapeBytes)/rows, float64(f.payloadBytes)/rows, float64(f.events)*1e6/rows)
	fmt.Printf("  verified in %.2f s, %.1f CPU seconds (%.2f times the run's), peak memory %d MB\n",
		f.verify.seconds, f.verify.cpuSeconds, f.verify.cpuSeconds/f.cpuSeconds, f.verify.peakBytes>>20)
}

// printBeside prints what the same took another binary.
func (f figures) printBeside(then figures) {
	fmt.Printf("  the other binary: %.2f s, %.2f CPU seconds, peak memory %d MB; this one takes %.2f of the time, %.2f of the CPU time\n",
		then.seconds, then.cpuSeconds, then.peakBytes>>20, f.seconds/then.seconds, f.cpuSeconds/then.cpuSeconds)
	if then.verify.seconds > 0 {
		fmt.Printf("  the other binary verified it in %.2f s, %.1f CPU seconds, peak memory %d MB; this one takes %.2f of the time, %.2f of the CPU time\n",
			then.verify.seconds, then.verify.cpuSeconds, then.verify.peakBytes>>20, f.verify.seconds/then.verify.seconds, f.verify.cpuSeconds/then.verify.cpuSeconds)
	}
}

// measurement is what is measured, and where.
type measurement struct {
	binary string
	beside string // another binary, of which the same is measured; empty for none
	folder string
}

// place returns the folder for that many rows.
func (m measurement) place(rows int) string { return filepath.Join(m.folder, strconv.Itoa(rows)) }

// take runs the job over that many rows, with a fresh source and a fresh state.
func (m measurement) take(job job, rows int) (figures, error) {
	folder := m.place(rows)
	if err := m.prepare(job, rows); err != nil {
		return figures{}, err
	}
	size, err := generate(filepath.Join(folder, sourceFile), rows)
	if err != nil {
		return figures{}, err
	}
	out := figures{job: job.name, rows: rows, sourceBytes: size}
	if job.parquet {
		if out.sourceBytes, err = m.convert(folder); err != nil {
			return figures{}, err
		}
	}
	id, err := out.run(m.binary, folder)
	if err != nil {
		return figures{}, err
	}
	if err := out.inspect(folder, id); err != nil {
		return figures{}, err
	}
	out.verify, _, err = execute(m.binary, folder, "verify", id, "--json")
	return out, err
}

// compare runs the same with the other binary, if there is one, over the same source with a fresh state.
func (m measurement) compare(job job, now figures) error {
	if m.beside == "" {
		return nil
	}
	if err := m.prepare(job, now.rows); err != nil {
		return err
	}
	var then figures
	id, err := then.run(m.beside, m.place(now.rows))
	if err != nil {
		return err
	}
	then.verify, _, err = execute(m.beside, m.place(now.rows), "verify", id, "--json")
	now.printBeside(then)
	return err
}

// convert makes Parquet files of the source and returns their size.
func (m measurement) convert(folder string) (int64, error) {
	if err := os.WriteFile(filepath.Join(folder, "convert.yaml"), []byte(toParquet), 0o600); err != nil {
		return 0, err
	}
	state := filepath.Join(folder, "converted")
	if _, _, err := execute(m.binary, folder, "run", "convert.yaml", "--state", state); err != nil {
		return 0, errors.Join(err, os.RemoveAll(state))
	}
	size, err := folderBytes(filepath.Join(folder, "parquet"))
	return size, errors.Join(err, os.RemoveAll(state))
}

// prepare puts the job's document into its folder and removes the state of earlier runs.
func (m measurement) prepare(job job, rows int) error {
	folder := m.place(rows)
	if err := errors.Join(os.MkdirAll(folder, 0o750), os.RemoveAll(filepath.Join(folder, stateFolder))); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "pipeline.yaml"), []byte(job.document()), 0o600)
}

// run runs the binary and returns the run's id.
func (f *figures) run(binary, folder string) (string, error) {
	took, output, err := execute(binary, folder, "run", "pipeline.yaml", "--json")
	if err != nil {
		return "", err
	}
	f.seconds, f.cpuSeconds, f.peakBytes = took.seconds, took.cpuSeconds, took.peakBytes
	return resultRun(output)
}

// exitRefused is the exit code of a run that is complete, and refused rows.
const exitRefused = 3

// execute runs the binary and returns what it took, and its standard output.
func execute(binary, folder string, args ...string) (took cost, output []byte, err error) {
	command := exec.Command(binary, args...)
	command.Dir, command.Stderr = folder, os.Stderr
	start := time.Now()
	output, err = command.Output()
	took.seconds = time.Since(start).Seconds()
	if err != nil && command.ProcessState.ExitCode() != exitRefused {
		return took, nil, fmt.Errorf("%s: %w\n%s", command, err, output)
	}
	usage := command.ProcessState.SysUsage().(*syscall.Rusage)
	took.cpuSeconds = (command.ProcessState.UserTime() + command.ProcessState.SystemTime()).Seconds()
	took.peakBytes = usage.Maxrss << 10
	return took, output, nil
}

// resultRun reads the run's id from the run_result line.
func resultRun(output []byte) (string, error) {
	var result struct {
		Type string `json:"type"`
		Run  string `json:"run"`
	}
	lines := splitLines(output)
	if len(lines) == 0 {
		return "", errors.New("the run printed no result")
	}
	err := json.Unmarshal(lines[len(lines)-1], &result)
	return result.Run, err
}

func splitLines(output []byte) [][]byte {
	var lines [][]byte
	start := 0
	for i, b := range output {
		if b == '\n' {
			lines = append(lines, output[start:i])
			start = i + 1
		}
	}
	return lines
}

// inspect looks at what the run left behind.
func (f *figures) inspect(folder, id string) error {
	state := filepath.Join(folder, stateFolder)
	info, err := os.Stat(filepath.Join(state, "landscape.db"))
	if err != nil {
		return err
	}
	f.landscapeBytes = info.Size()
	if f.payloadBytes, err = folderBytes(filepath.Join(state, "payloads")); err != nil {
		return err
	}
	f.events, err = historyEvents(state, id)
	return err
}

func folderBytes(folder string) (int64, error) {
	var total int64
	err := filepath.Walk(folder, func(_ string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			total += info.Size()
		}
		return err
	})
	return total, err
}

// historyEvents returns the length of the latest history of a run.
func historyEvents(state, id string) (events int64, err error) {
	err = withTemporal(state, func(ctx context.Context, client sdk.Client) error {
		description, err := client.DescribeWorkflowExecution(ctx, workflows.WorkflowID(id), "")
		events = description.GetWorkflowExecutionInfo().GetHistoryLength()
		return err
	})
	return events, err
}

// withTemporal starts the Temporal server of a state folder, which no process uses, asks it something, and stops it.
func withTemporal(state string, ask func(context.Context, sdk.Client) error) (err error) {
	ctx := context.Background()
	server, err := embedded.Start(ctx, embedded.Options{DatabasePath: filepath.Join(state, "temporal.db")})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	client, err := server.Client(ctx, sdk.Options{})
	if err != nil {
		return err
	}
	defer client.Close()
	return ask(ctx, client)
}

// generate writes the source and returns its size. The rows are the same on every machine.
func generate(path string, rows int) (int64, error) {
	file, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	w := bufio.NewWriterSize(file, 1<<20)
	fmt.Fprintln(w, "id,customer,city,channel,amount,quantity,price,ordered,paid,note")
	cities := []string{"Springfield", "Rivertown", "Lakeside", "Hillcrest", "Oakdale"}
	channels := []string{"web", "shop", "phone"}
	for i := range rows {
		fmt.Fprintf(w, "%d,customer-%08d,%s,%s,%d,%d,%d.%02d,20%02d-%02d-%02d,%t,note on the order number %d\n",
			i+1, i*7919%rows, cities[i%5], channels[i%3], i*31%5000, i%9+1, i%300, i%100, i%24, i%12+1, i%28+1, i%4 != 0, i+1)
	}
	if err := w.Flush(); err != nil {
		return 0, errors.Join(err, file.Close())
	}
	info, err := file.Stat()
	if err != nil {
		return 0, errors.Join(err, file.Close())
	}
	return info.Size(), file.Close()
}

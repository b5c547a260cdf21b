package setup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/client"
	"engramd/internal/platform/pattern"
	"engramd/internal/platform/service"
)

const (
	// localPort is the first that is tried for a local relay, and localPorts how
	// many are.
	localPort, localPorts = 7447, 20
	// localPatience is how long a relay may take to start.
	localPatience = 15 * time.Second
)

// listenFlag finds the address in what a service runs.
var listenFlag = pattern.Later(`--listen=(127\.0\.0\.1:[0-9]{1,5})\b`)

// services is the service manager of the user.
func services(env *cliutil.Env) service.Manager {
	if env.Services != nil {
		return env.Services
	}
	config := env.Vars["XDG_CONFIG_HOME"]
	if !filepath.IsAbs(config) {
		config = filepath.Join(env.Home(), ".config")
	}
	return service.System(service.Place{Home: env.Home(), Config: config, State: cliutil.StateFolder(env), User: os.Getuid()})
}

// localRelay has the user's service manager run a relay, where that is asked for.
func (s *setup) localRelay(ctx context.Context) error {
	if !s.f.local {
		return s.step("relay", "%s", strings.Join(s.want.Relays, ", "))
	}
	manager := services(s.env)
	none := manager.Ready(ctx)
	program, err := program(s.env, "engramd")
	if err != nil {
		if none == nil {
			return exit.Usagef("--local: %w: install engramd, or name a relay with --relay", err)
		}
		program = "engramd"
	}
	before, err := fileText(manager.File())
	if err != nil {
		return err
	}
	if before != "" && !service.Ours(before) {
		return exit.Usagef("--local: %s is there, and was not written by engramctl: name its relay with --relay, or move the file away", manager.File())
	}
	address, err := localAddress(s, before)
	if err != nil {
		return err
	}
	if none == nil && before == "" && s.answering(ctx, address) == nil {
		return exit.Usagef("--local: an engramd answers at ws://%s already, and no service of setup's runs it: name it with --relay, or end it", address)
	}
	data := filepath.Join(cliutil.StateFolder(s.env), "relay")
	s.want.Relays = []string{"ws://" + address}
	if err := s.fits(ctx); err != nil {
		return err
	}
	spec := service.Spec{Program: program, Args: []string{"serve", "--listen=" + address, "--data=" + data, "--metrics-listen="}}
	spec.Args = append(spec.Args, writersOf(ctx, s, before, s.want.Relays[0]).args()...)
	if none != nil {
		if len(s.old.Relays) > 0 && s.answering(ctx, address) == nil {
			return s.step("relay", "%s answers", s.want.Relays[0])
		}
		s.byHand = true
		return s.step("relay", "%s: %v. Start it yourself, now and after each restart:\n         %s", s.want.Relays[0], none, shellLine(spec))
	}
	text, err := manager.Text(spec)
	if err != nil {
		return err
	}
	if text == before && s.answering(ctx, address) == nil {
		return s.step("relay", "%s runs: %s", s.want.Relays[0], manager.File())
	}
	if err := s.write(manager.File(), before, text, 0o644); err != nil || s.f.dryRun {
		return errors.Join(err, s.step("relay", "would start %s with its data in %s", s.want.Relays[0], data))
	}
	return s.startLocal(ctx, manager, address, data)
}

// startLocal starts what was described, and waits until it answers.
func (s *setup) startLocal(ctx context.Context, manager service.Manager, address, data string) error {
	if err := os.MkdirAll(filepath.Dir(data), 0o700); err != nil {
		return err
	}
	if err := manager.Start(ctx); err != nil {
		return fmt.Errorf("the relay is not started: %w (%s describes it)", err, manager.File())
	}
	ctx, cancel := context.WithTimeout(ctx, s.env.Allow(localPatience))
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := s.answering(ctx, address)
		if err == nil {
			return s.step("relay", "started %s with its data in %s. To end it for good: %s", s.want.Relays[0], data, manager.Stop())
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%w: the relay was started and does not answer at %s (%w); %s describes it", client.ErrNoRelay, s.want.Relays[0], err, manager.File())
		}
	}
}

// answering returns nil if an engramd answers at an address.
func (s *setup) answering(ctx context.Context, address string) error {
	c := client.New(client.Identity{}, client.Options{Timeout: s.env.Allow(2 * time.Second), Trace: s.env.Trace()})
	defer c.Close()
	info, err := c.Info(ctx, "ws://"+address)
	if err == nil && !strings.Contains(info.Software, "engramd") {
		err = errors.New("what answers there is no engramd")
	}
	return err
}

// localAddress is where the local relay listens: where it did before, or at a port
// that is free.
func localAddress(s *setup, before string) (string, error) {
	if m := listenFlag().FindStringSubmatch(before); m != nil {
		return m[1], nil
	}
	if len(s.old.Relays) > 0 {
		address, local := strings.CutPrefix(s.old.Relays[0], "ws://127.0.0.1:")
		if address = strings.TrimSuffix(address, "/"); !local || len(s.old.Relays) > 1 {
			return "", exit.Usagef("profile %q in %s has other relays: name another profile with --profile", s.name, s.config)
		}
		return "127.0.0.1:" + address, nil
	}
	for port := localPort; port < localPort+localPorts; port++ {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		if l, err := net.Listen("tcp", address); err == nil {
			return address, l.Close()
		}
	}
	return "", fmt.Errorf("of the ports from %d to %d none is free: start a relay by hand, and name it with --relay", localPort, localPort+localPorts-1)
}

// program finds one of our programs: beside this one, or where the shell looks.
func program(env *cliutil.Env, name string) (string, error) {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	dirs := filepath.SplitList(env.Vars["PATH"])
	if self, err := cliutil.Self(env); err == nil {
		dirs = append([]string{filepath.Dir(self)}, dirs...)
	}
	for _, dir := range dirs {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); filepath.IsAbs(path) && err == nil && info.Mode().IsRegular() && cliutil.Runnable(info) {
			return path, nil
		}
	}
	return "", fmt.Errorf("there is no %s beside engramctl or in PATH: %w", name, exec.ErrNotFound)
}

// fileText reads a file that need not be there.
func fileText(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(text), err
}

// shellLine is a command line for people.
func shellLine(spec service.Spec) string {
	plain := regexp.MustCompile(`^[A-Za-z0-9_./:=@%+,-]+$`)
	var words []string
	for _, word := range append([]string{spec.Program}, spec.Args...) {
		if !plain.MatchString(word) {
			word = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// stopLocal is how a relay of setup --local is ended.
func stopLocal(env *cliutil.Env) string {
	m := services(env)
	if text, err := fileText(m.File()); err != nil || !service.Ours(text) {
		return "there is none"
	}
	return m.Stop()
}

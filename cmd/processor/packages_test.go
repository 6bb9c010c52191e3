package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"precis/internal/config"
)

// The unit is closed as far as a program that serves a network can be: systemd's own score, from 0 (closed) to 10.
func TestUnitIsHardened(t *testing.T) {
	tool, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("no systemd-analyze here")
	}
	out, err := exec.CommandContext(t.Context(), tool, "security", "--offline=true", "--threshold=20", "--no-pager", projectRoot+"/deploy/systemd/precis.service").CombinedOutput()
	m := regexp.MustCompile(`Overall exposure level for precis.service: ([0-9.]+)`).FindSubmatch(out)
	if err != nil || m == nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if score, err := strconv.ParseFloat(string(m[1]), 64); err != nil || score > 2 {
		t.Errorf("the score is %s", m[1])
	}
	unit := projectFile(t, "deploy/systemd/precis.service")
	line := regexp.MustCompile(`(?m)^ExecStart=/usr/bin/processor (.*)$`).FindStringSubmatch(unit)
	if line == nil {
		t.Fatal("the unit starts nothing")
	}
	args := strings.Fields(strings.NewReplacer("run ", "config ", " --log-format json", "", "/etc/precis/precis.yaml", projectRoot+"/deploy/systemd/precis.yaml").Replace(line[1]))
	program(t, "", args...).wants(t, exitDone, "data_dir: /var/lib/precis", "")
}

// What compose sets is a configuration that the program starts with.
func TestComposeConfigures(t *testing.T) {
	for _, c := range []struct{ file, service, want string }{
		{"deploy/compose.yaml", "precis", ":4222 agent  0"},
		{"deploy/compose.cluster.yaml", "p1", "127.0.0.1:4222 processor demo 3"},
		{"deploy/compose.cluster.yaml", "p2", "127.0.0.1:4222 processor demo 3"},
	} {
		var compose struct {
			Services map[string]struct {
				Environment map[string]string `yaml:"environment"`
				ReadOnly    bool              `yaml:"read_only"`
			} `yaml:"services"`
		}
		if err := yaml.Unmarshal([]byte(projectFile(t, c.file)), &compose); err != nil {
			t.Fatal(err)
		}
		service := compose.Services[c.service]
		if !service.ReadOnly || len(service.Environment) == 0 {
			t.Fatalf("read %+v", service)
		}
		var env []string
		for name, value := range service.Environment {
			env = append(env, name+"="+value)
		}
		cfg, err := config.Load(config.Sources{Env: env})
		if err != nil {
			t.Fatalf("%s: %v", c.file, err)
		}
		if got := fmt.Sprint(cfg.NATS.Listen, " ", cfg.NATS.User, " ", cfg.Cluster.Name, " ", cfg.NATS.Replicas); got != c.want {
			t.Errorf("%s, %s: %s, want %s", c.file, c.service, got, c.want)
		}
	}
}

// The servers of the cluster's compose file are those of its NATS configuration.
func TestComposeNamesTheServers(t *testing.T) {
	var compose struct {
		Services map[string]struct {
			Command     []string          `yaml:"command"`
			Environment map[string]string `yaml:"environment"`
		} `yaml:"services"`
	}
	if err := yaml.Unmarshal([]byte(projectFile(t, "deploy/compose.cluster.yaml")), &compose); err != nil {
		t.Fatal(err)
	}
	conf := projectFile(t, "deploy/nats/cluster/nats.conf")
	for _, name := range []string{"n1", "n2", "n3"} {
		server := compose.Services[name]
		if server.Environment["NATS_SERVER_NAME"] != name || !strings.Contains(conf, "nats://"+name+":6222") || !slices.Contains(server.Command, "/etc/precis/nats/cluster/nats.conf") {
			t.Errorf("%s: %+v", name, server)
		}
		for _, variable := range regexp.MustCompile(`\$([A-Z_]+)`).FindAllStringSubmatch(conf+projectFile(t, "deploy/nats/nats.conf"), -1) {
			if server.Environment[variable[1]] == "" && strings.HasPrefix(variable[1], "NATS_") {
				t.Errorf("%s has no %s", name, variable[1])
			}
		}
	}
}

// A release file and the image are read by tools that are not here: what they name in the project has to be there.
func TestPackagesNameWhatIsThere(t *testing.T) {
	var release map[string]any
	text := projectFile(t, ".goreleaser.yaml")
	if err := yaml.Unmarshal([]byte(text), &release); err != nil || release["version"] != uint64(2) {
		t.Fatalf("%v, version %v", err, release["version"])
	}
	for _, name := range []string{"deploy/systemd/precis.service", "deploy/systemd/precis.yaml", "README.md", "CHANGELOG.md", "docs", "cmd/processor"} {
		if _, err := os.Stat(projectRoot + "/" + name); err != nil || !strings.Contains(text, name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	image := projectFile(t, "Dockerfile")
	for _, want := range []string{"CGO_ENABLED=0", "FROM scratch", "USER 65532:65532", "VOLUME /data"} {
		if !strings.Contains(image, want) {
			t.Errorf("the Dockerfile has no %s", want)
		}
	}
}

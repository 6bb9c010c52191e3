package main

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"precis/internal/config"
)

// manifest is what the tests read of a manifest of Kubernetes.
type manifest struct {
	Kind     string                `yaml:"kind"`
	Metadata struct{ Name string } `yaml:"metadata"`
	Data     map[string]string     `yaml:"data"`
	Spec     struct {
		Template struct {
			Spec struct {
				Containers []container `yaml:"containers"`
				Volumes    []struct {
					Name      string                `yaml:"name"`
					ConfigMap struct{ Name string } `yaml:"configMap"`
				} `yaml:"volumes"`
				EnableServiceLinks *bool `yaml:"enableServiceLinks"`
			} `yaml:"spec"`
		} `yaml:"template"`
		MaxReplicaCount int `yaml:"maxReplicaCount"`
	} `yaml:"spec"`
}

type container struct {
	Args []string `yaml:"args"`
	Env  []struct {
		Name string `yaml:"name"`
	} `yaml:"env"`
	Ports []struct {
		Name          string `yaml:"name"`
		ContainerPort int    `yaml:"containerPort"`
	} `yaml:"ports"`
	VolumeMounts []struct {
		Name      string `yaml:"name"`
		MountPath string `yaml:"mountPath"`
	} `yaml:"volumeMounts"`
}

// manifests reads the documents of a file below deploy/kubernetes.
func manifests(t *testing.T, name string) map[string]manifest {
	t.Helper()
	of := map[string]manifest{}
	for document := range strings.SplitSeq(projectFile(t, "deploy/kubernetes/"+name), "\n---\n") {
		var m manifest
		if err := yaml.Unmarshal([]byte(document), &m); err != nil {
			t.Fatal(err)
		}
		of[m.Kind+" "+m.Metadata.Name] = m
	}
	return of
}

// What the pods run is a configuration that the program starts with, and what it names is mounted, in a volume or a port of the pod.
func TestKubernetesConfigures(t *testing.T) {
	all := manifests(t, "precis.yaml")
	pod := all["StatefulSet precis"].Spec.Template.Spec
	if len(pod.Containers) != 1 {
		t.Fatalf("read %+v", all)
	}
	processor := pod.Containers[0]
	// A Service named precis would give the pod PRECIS_PORT and others, which the program refuses.
	if pod.EnableServiceLinks == nil || *pod.EnableServiceLinks {
		t.Error("variables of Services are the program's")
	}
	mounts := map[string]string{}
	for _, m := range processor.VolumeMounts {
		mounts[m.MountPath] = m.Name
	}
	file := processor.Args[slices.Index(processor.Args, "--config")+1]
	var text string
	for _, v := range pod.Volumes {
		if v.Name == mounts[path.Dir(file)] {
			text = all["ConfigMap "+v.ConfigMap.Name].Data[path.Base(file)]
		}
	}
	local := filepath.Join(t.TempDir(), "precis.yaml")
	if err := os.WriteFile(local, []byte(text), 0o600); err != nil || text == "" {
		t.Fatalf("%s is mounted from nowhere: %v", file, err)
	}
	var env []string
	for _, e := range processor.Env {
		env = append(env, e.Name+"=secret")
	}
	cfg, err := config.Load(config.Sources{File: local, Env: env})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{cfg.NATS.TLS.CA, cfg.API.TokensFile, path.Dir(cfg.DataDir) + "/x"} {
		if mounts[path.Dir(name)] == "" {
			t.Errorf("%s is in no volume", name)
		}
	}
	ports := map[string]string{}
	for _, p := range processor.Ports {
		ports[p.Name] = ":" + strconv.Itoa(p.ContainerPort)
	}
	if ports["metrics"] != cfg.HTTP.Listen || ports["api"] != cfg.API.Listen || cfg.Cluster.Name == "" || cfg.NATS.Replicas != 3 {
		t.Errorf("%v, and the program has %+v, %+v, %+v", ports, cfg.HTTP, cfg.API, cfg.Cluster)
	}
	if most := manifests(t, "autoscale.yaml")["ScaledObject precis"].Spec.MaxReplicaCount; most < 2 || most > cfg.Partitions {
		t.Errorf("%d processors of %d partitions", most, cfg.Partitions)
	}
}

// The manifests have what the schemas of their kinds demand, and no key that those don't know.
func TestKubernetesSchemas(t *testing.T) {
	const validators = projectRoot + "/.ci/validators"
	if _, err := os.Stat(validators + "/node_modules/kubernetes-models"); err != nil {
		t.Skip("the validators are not installed: npm ci --prefix .ci/validators")
	}
	files, err := filepath.Glob(projectRoot + "/deploy/kubernetes/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	validate := func(files ...string) string {
		out, err := exec.CommandContext(t.Context(), "node", append([]string{validators + "/kubernetes.mjs"}, files...)...).CombinedOutput()
		if (err != nil) != (len(out) > 0) {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	if out := validate(files...); out != "" {
		t.Error(out)
	}
	// The check itself: a value of another type, a key that is missing, one that is not known.
	broken := filepath.Join(t.TempDir(), "broken.yaml")
	text := strings.NewReplacer("maxUnavailable: 1", "maxUnavailable: [1]", "matchLabels: {app.kubernetes.io/name: precis}\n  policyTypes", "labels: {}\n  policyTypes",
		"serviceName: precis", "serviceNames: precis").Replace(projectFile(t, "deploy/kubernetes/precis.yaml"))
	if err := os.WriteFile(broken, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out := validate(broken)
	for _, want := range []string{"maxUnavailable", "serviceNames", "labels"} {
		if !strings.Contains(out, want) {
			t.Errorf("%s is not found:\n%s", want, out)
		}
	}
}

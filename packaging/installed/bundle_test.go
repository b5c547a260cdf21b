package installed

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBundle unpacks this machine's bundle and starts it as a client would:
// with its folder and the user's answers in place of the variables.
func TestBundle(t *testing.T) {
	folder := t.TempDir()
	run(t, nil, folder, "python3", "-c", "import sys,zipfile,os\nz=zipfile.ZipFile(sys.argv[1])\nfor i in z.infolist():\n p=z.extract(i); os.chmod(p, i.external_attr>>16)",
		find(t, "mcpb/engramctl_*_linux_"+here+".mcpb"))
	var manifest struct {
		Server struct {
			EntryPoint string `json:"entry_point"`
			Config     struct {
				Command string
				Args    []string
				Env     map[string]string
			} `json:"mcp_config"`
		}
	}
	text := read(t, filepath.Join(folder, "manifest.json"))
	m := remembering(t)
	replace := []string{"${__dirname}", folder}
	for i, name := range []string{"relays", "owner", "key_file"} {
		_, value, _ := strings.Cut(m.env[i], "=")
		replace = append(replace, "${user_config."+name+"}", value)
	}
	if err := json.Unmarshal([]byte(strings.NewReplacer(replace...).Replace(text)), &manifest); err != nil {
		t.Fatal(err)
	}
	server := manifest.Server.Config
	env := clean(t)
	for key, value := range server.Env {
		if strings.Contains(value, "${") {
			t.Errorf("%s=%s is asked of nobody", key, value)
		}
		env = append(env, key+"="+value)
	}
	serveMCP(t, env, "installed/bundle", append([]string{server.Command}, server.Args...)...)
	if info, err := os.Stat(filepath.Join(folder, manifest.Server.EntryPoint)); err != nil || info.Mode().Perm()&0o100 == 0 {
		t.Errorf("entry_point: %v, %v", info, err)
	}
}

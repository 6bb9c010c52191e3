// Package config builds the configuration in force from defaults, a YAML file, PRECIS_… variables and flags, in
// ascending precedence, and records the origin of every value.
//
// Load is the only entry point. A Config that it returns is complete and valid: Load refuses anything invalid and
// names the key, its origin and the allowed values, so that nothing starts with unintended settings.
//
// # Keys
//
// A key is a path such as nats.tls.ca, policies[0].tool_output.over_chars or providers.main.model.
// The variable of a key is PRECIS_ and the path in capitals with every separator an underscore:
// PRECIS_NATS_TLS_CA, PRECIS_POLICIES_0_TOOL_OUTPUT_OVER_CHARS, PRECIS_PROVIDERS_MAIN_MODEL. A variable
// only sets existing keys; it can't add a policy or a provider. An empty variable counts as unset,
// because container tools pass unset values on as empty variables. Commas separate the words of a list.
//
// # Replacing and merging
//
// Each policy in the file starts from summarize.Default, and each provider from the defaults of its
// kind (main and summarizer have a kind by default); the lists themselves replace the built-in ones. Within a policy,
// trigger, keep and staleness.on replace their default as a whole: merging two conditions would give one that is in
// neither source.
//
// # Limits
//
// One YAML document. The configuration contains no secrets: a key names the variable that holds one,
// and the value is kept in a field that is never printed.
package config

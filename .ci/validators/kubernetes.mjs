// Checks Kubernetes manifests against the schemas of their kinds, and prints what is wrong. The validators of kubernetes-models find what is
// missing or of the wrong type; unknown keys, which they let pass, are found by compiling each manifest against its TypeScript type.
//
//   node kubernetes.mjs FILE...

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import ts from 'typescript';
import { parseAllDocuments } from 'yaml';

// The packages of the API groups that are not Kubernetes' own. In each, the models of a version are below GROUP/VERSION.
const packages = { 'monitoring.coreos.com': '@kubernetes-models/prometheus-operator', 'keda.sh': '@kubernetes-models/keda' };
const here = import.meta.dirname;
const problems = [];
const typed = [];
for (const file of process.argv.slice(2)) {
  const documents = parseAllDocuments(await readFile(file, 'utf8'), { version: '1.1' });
  if (documents.length === 0) problems.push([file, 'no document']);
  for (const document of documents) {
    problems.push(...document.errors.map((error) => [file, error.message]));
    const object = document.toJS();
    const of = `${file} ${object.kind}`;
    const [version, group = ''] = object.apiVersion.split('/').reverse();
    const from = path.posix.join(packages[group] ?? 'kubernetes-models', group, version);
    try {
      const { [object.kind]: Model } = await import(from);
      new Model(object).validate();
      typed.push({ of, from, kind: object.kind, object });
    } catch (error) {
      problems.push([of, error.message]);
    }
  }
}

// An object literal of a type may have no key that the type has not.
const dir = await mkdtemp(path.join(here, 'manifests-'));
try {
  const options = { strict: true, noEmit: true, skipLibCheck: true, target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler, types: [] };
  const files = typed.map((_, i) => path.join(dir, `${i}.ts`));
  for (const [i, { from, kind, object }] of typed.entries()) {
    await writeFile(files[i], `import type { I${kind} } from '${from}';\nexport const object: I${kind} = ${JSON.stringify(object, null, 1)};\n`);
  }
  for (const { file, messageText } of ts.getPreEmitDiagnostics(ts.createProgram(files, options))) {
    problems.push([typed[files.indexOf(file?.fileName)]?.of ?? file?.fileName, ts.flattenDiagnosticMessageText(messageText, ' ')]);
  }
} finally {
  await rm(dir, { recursive: true });
}
for (const problem of problems) console.log(JSON.stringify(problem));
process.exitCode = problems.length > 0 ? 1 : 0;

// Holds an OpenAPI document to OpenAPI 3.1 with two validators, and prints what they object to.
//
//   node openapi.mjs FILE

import { readFile } from 'node:fs/promises';
import { createConfig, lint } from '@redocly/openapi-core';
import { Validator } from '@seriousme/openapi-schema-validator';

const file = process.argv[2];
const problems = [];
const validator = new Validator();
const { valid, errors } = await validator.validate(JSON.parse(await readFile(file, 'utf8')));
if (!valid || validator.version !== '3.1') problems.push(['openapi-schema-validator', validator.version, errors]);
// Its warnings are of taste.
for (const { ruleId, severity, message, location } of await lint({ ref: file, config: await createConfig({ extends: ['recommended'] }) })) {
  if (severity === 'error') problems.push(['redocly', ruleId, message, location[0]?.pointer]);
}
for (const problem of problems) console.log(JSON.stringify(problem));
process.exitCode = problems.length > 0 ? 1 : 0;

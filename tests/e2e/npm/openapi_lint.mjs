// openapi_lint.mjs FILE: lints an OpenAPI document by Redocly's recommended rules; prints what is wrong as JSON.
import {createConfig, lint} from "@redocly/openapi-core";

const config = await createConfig({extends: ["recommended"]});
const problems = await lint({ref: process.argv[2], config});
console.log(JSON.stringify(problems.map(({severity, ruleId, message, location}) =>
  ({severity, ruleId, message, at: location.map((each) => each.pointer)}))));

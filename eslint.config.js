import js from "@eslint/js";
import globals from "globals";

// Control characters and combining ones stand in expressions on purpose: they are what a text is cleaned of.
const CLEANING = { "no-control-regex": "off", "no-misleading-character-class": ["error", { allowEscape: true }] };

export default [
  { ignores: [".venv/", "build/", "dist/"] },
  js.configs.recommended,
  {
    linterOptions: { reportUnusedDisableDirectives: "error" },
    languageOptions: { globals: { ...globals.browser, ...globals.serviceworker } },
    rules: {
      ...CLEANING,
      "array-callback-return": "error",
      "consistent-return": "error",
      eqeqeq: ["error", "always", { null: "ignore" }],
      "no-constructor-return": "error",
      "no-duplicate-imports": "error",
      "no-implied-eval": "error",
      "no-self-compare": "error",
      "no-template-curly-in-string": "error",
      "no-throw-literal": "error",
      "no-unmodified-loop-condition": "error",
      "no-unreachable-loop": "error",
      "no-unused-expressions": ["error", { allowTernary: true }],
      // `{ scene, ...others }` is how one field is left out.
      "no-unused-vars": ["error", { ignoreRestSiblings: true }],
      "no-var": "error",
      "prefer-const": "error",
    },
  },
  { files: ["**/*.test.js", "tests/kit/engine.js", "tests/kit/fixtures.js"], languageOptions: { globals: globals.node } },
  // Written so that old browsers read it.
  { files: ["viz/site/old.js"], languageOptions: { ecmaVersion: 5, sourceType: "script" }, rules: { "no-var": "off" } },
  // One function each, which Playwright takes as it stands.
  { files: ["tests/kit/first_screen.js", "tests/kit/overlaps.js"], rules: { "no-unused-expressions": "off" } },
];

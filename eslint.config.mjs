import eslint from '@eslint/js';
import tseslint from 'typescript-eslint';

const TRANSACTION = 'CallExpression[callee.property.name=/^(inEmployer|outsideEmployers|asWorker)/]';
/** What only prepares a call, or knows how amounts are written, asks the bank nothing. Calls behind others are seen by the tests. */
const BANK_CALLS = [
  "CallExpression[callee.object.property.name='gateway'][callee.property.name!=/^prepare/]",
  "CallExpression[callee.object.object.property.name='client'][callee.object.property.name!='amounts']",
];

export default tseslint.config(
  { ignores: ['dist/**', '.build/**', 'coverage/**', 'node_modules/**', '.payrun/**'] },
  eslint.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [...tseslint.configs.recommendedTypeChecked],
    languageOptions: {
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      '@typescript-eslint/consistent-type-imports': 'off',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-non-null-assertion': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      'no-restricted-properties': [
        'error',
        { object: 'Number', property: 'parseFloat', message: 'No float ever touches an amount.' },
      ],
      'no-restricted-globals': ['error', { name: 'parseFloat', message: 'No float ever touches an amount.' }],
    },
  },
  {
    files: ['src/domain/**/*.ts'],
    rules: {
      'no-restricted-globals': [
        'error',
        { name: 'process', message: 'The domain is pure: pass it in.' },
        { name: 'fetch', message: 'The domain is pure: pass it in.' },
        { name: 'parseFloat', message: 'No float ever touches an amount.' },
      ],
      'no-restricted-syntax': [
        'error',
        { selector: "MemberExpression[object.name='Date'][property.name='now']", message: 'Pass time in.' },
        { selector: "NewExpression[callee.name='Date'][arguments.length=0]", message: 'Pass time in.' },
        {
          selector: "MemberExpression[object.name='Math'][property.name='random']",
          message: 'Pass randomness in.',
        },
      ],
    },
  },
  {
    files: [
      'src/{audit,employer,http,identity,pay-file,pay-run,reconciliation,schedule,settlement,submission}/**/*.ts',
    ],
    rules: {
      'no-restricted-syntax': [
        'error',
        { selector: "MemberExpression[object.name='Date'][property.name='now']", message: 'Ask the Clock.' },
        { selector: "NewExpression[callee.name='Date'][arguments.length=0]", message: 'Ask the Clock.' },
        ...BANK_CALLS.map((call) => ({
          selector: `${TRANSACTION} ${call}`,
          message: 'No call to the bank inside a transaction.',
        })),
      ],
    },
  },
  {
    files: ['test/**/*.ts', 'bench/**/*.ts', 'prove/**/*.ts'],
    rules: {
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/unbound-method': 'off',
    },
  },
);

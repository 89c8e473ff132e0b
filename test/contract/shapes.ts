import { ANSWERED, type Field, type FieldType, type ResourceName } from './fields';
import type { OperationName } from './operations';
import { SENT } from './request-fields';

export const RESOURCES: Readonly<Record<ResourceName, readonly Field[]>> = { ...ANSWERED, ...SENT };

export type Json = ReturnType<typeof JSON.parse>;

/** A field with those below it: of a group its own, of a resource the resource's. */
interface Node {
  name: string;
  field: Field;
  isArray: boolean;
  children: Node[];
}

/** The fields of a resource as a tree, as far as they travel in an operation's answer. */
export function treeOf(resource: ResourceName, operation?: OperationName): Node[] {
  const travelling = RESOURCES[resource].filter(({ onlyIn, notIn }) => {
    if (operation === undefined) return true;
    return (!onlyIn || onlyIn.includes(operation)) && !notIn?.includes(operation);
  });
  return childrenOf('', travelling, operation);
}

function childrenOf(prefix: string, fields: readonly Field[], operation?: OperationName): Node[] {
  const direct = fields.filter(
    ({ path }) => path.startsWith(prefix) && !path.slice(prefix.length).includes('.'),
  );
  return direct.map((field) => {
    const [type, isArray] = elementOf(field.type);
    const below = type in RESOURCES ? treeOf(type as ResourceName, operation) : undefined;
    const children = below ?? (type === 'group' ? childrenOf(`${field.path}.`, fields, operation) : []);
    return { name: field.path.slice(prefix.length), field, isArray, children };
  });
}

function elementOf(type: FieldType): [type: string, isArray: boolean] {
  return type.endsWith('[]') ? [type.slice(0, -2), true] : [type, false];
}

/** What every id and every other integer is, so that an answer is about the record asked for. */
export const SAMPLE_ID = 42;

const SAMPLES: Readonly<Record<string, unknown>> = {
  string: 'text',
  integer: SAMPLE_ID,
  number: 1050,
  boolean: true,
  timestamp: '2026-03-02T10:00:00+00:00',
  date: '2026-03-10',
  object: { anything: [1, { deeper: 'x' }] },
  null: null,
};

/** A record with every field, or with those alone that the client cannot do without. */
export function example(nodes: readonly Node[], which: 'full' | 'essential'): Json {
  const chosen = nodes.filter(({ field }) => which === 'full' || field.essential);
  return Object.fromEntries(
    chosen.map((node) => {
      const [type] = elementOf(node.field.type);
      const one = node.children.length > 0 ? example(node.children, which) : sampleOf(node.field, type);
      return [node.name, node.isArray ? [one] : one];
    }),
  );
}

function sampleOf({ observed, path }: Field, type: string): unknown {
  const id = path === 'id' && type === 'string' ? String(SAMPLE_ID) : undefined;
  return observed?.[0] ?? id ?? SAMPLES[type];
}

/** A field's place in a full example. */
export interface Place {
  at: string[];
  field: Field;
}

/** Every field of a tree with its place; the first element stands for an array. */
export function placesIn(nodes: readonly Node[], at: readonly string[] = []): Place[] {
  return nodes.flatMap(({ name, field, isArray, children }) => {
    const here = [...at, name];
    return [{ at: here, field }, ...placesIn(children, isArray ? [...here, '0'] : here)];
  });
}

const TIMESTAMP = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/;

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string' && value !== '',
  integer: Number.isInteger,
  number: (value) => typeof value === 'number',
  boolean: (value) => typeof value === 'boolean',
  timestamp: (value) => typeof value === 'string' && TIMESTAMP.test(value),
  date: (value) => typeof value === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(value),
  object: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  null: (value) => value === null,
};

/** Where a value differs from its table: a field missing, of another type, or in no line of it. */
export function faultsIn(nodes: readonly Node[], value: Json, at = ''): string[] {
  if (!TYPES['object']?.(value)) return [`${at || 'body'}: no object`];
  const unknown = Object.keys(value)
    .filter((key) => !nodes.some(({ name }) => name === key))
    .map((key) => `${at}${key}: in no line of the contract`);
  return [...unknown, ...nodes.flatMap((node) => faultsOfField(node, value[node.name], at + node.name))];
}

function faultsOfField({ field, isArray, children }: Node, value: Json, at: string): string[] {
  if (value === undefined) return field.optional ? [] : [`${at}: missing`];
  if (value === null && field.nullable) return [];
  if (isArray && !Array.isArray(value)) return [`${at}: no array`];
  const [type] = elementOf(field.type);
  const elements: Json[] = isArray ? value : [value];
  return elements.flatMap((element) => {
    if (children.length > 0) return faultsIn(children, element, `${at}.`);
    return TYPES[type]?.(element) ? [] : [`${at}: no ${type}`];
  });
}

/** The lines of the contract, as `Resource.path`, that hold a value somewhere in a record. */
export function linesSeenIn(resource: ResourceName, value: Json): string[] {
  return RESOURCES[resource].flatMap((field) => {
    const found = valuesAt(value, field.path.split('.'));
    if (found.length === 0) return [];
    const [type] = elementOf(field.type);
    const below = type in RESOURCES ? (type as ResourceName) : undefined;
    const elements = found.flat().filter((element) => element !== null);
    return [
      `${resource}.${field.path}`,
      ...(below ? elements.flatMap((element) => linesSeenIn(below, element)) : []),
    ];
  });
}

function valuesAt(value: Json, [name, ...rest]: string[]): Json[] {
  if (name === undefined) return value === undefined ? [] : [value];
  return value === null || value === undefined ? [] : valuesAt(value[name], rest);
}

/** A copy of a record with the value at a place changed; `undefined` takes the field out. */
export function changedAt(value: Json, at: readonly string[], to: unknown): Json {
  const copy = structuredClone(value);
  const last = at.at(-1) ?? '';
  const parent = at.slice(0, -1).reduce((inner, name) => inner[name], copy);
  if (to === undefined) delete parent[last];
  else parent[last] = to;
  return copy;
}

/**
 * Checks a JSON value against a JSON Schema (draft 2020-12, as in OpenAI's structured outputs) in bounded time. `pattern`
 * and `format` are not checked: a regular expression from outside can take forever.
 *
 * Both come from outside, and a short schema can ask for endless work: so everything that costs time is counted in one
 * budget, a schema that a reference leads to is checked once for each place, and only the problem that is reported is put
 * into words.
 */
import { isJsonObject } from './json.ts';

/** Work of one check, in units of about 25 ns. */
export const MAX_SCHEMA_WORK = 2_000_000;

/** Deepest nesting of schemas that is followed, references included. */
export const MAX_SCHEMA_DEPTH = 200;

/** How the problem starts when the schema is at issue. */
export const UNFOLLOWABLE = 'the schema cannot be followed';

type Schema = Record<string, unknown>;

/** Units of work: one schema at one place or one field of an object, one item of a list, one member of an enum. */
const STEP = 20;
const CHILD = 4;
const MEMBER = 8;

/** A value inside the checked one. There is one place for each, so what was found out about it is found out once. */
interface Place {
  value: unknown;
  name: string | number;
  parent: Place | undefined;
  children?: readonly Place[];
  length?: number;
}

/** What does not match, put into words only when it is reported. */
interface Failure {
  place: Place;
  says: () => string;
}

/** The members of an enum: texts, numbers and the like by their keys, and the lists and objects. */
interface Choices {
  keys: ReadonlySet<string>;
  nested: readonly unknown[];
}

/** Thrown inside a check that exceeds its limits or meets a schema it cannot follow. */
class Unfollowable extends Error {}

/**
 * The first problem (`/items/0: must be a string`); undefined if the value matches. Names a schema that cannot be
 * followed (a foreign `$ref`, too much work). Never throws.
 */
export function schemaProblem(schema: Schema, value: unknown): string | undefined {
  return checkSchema(schema, value).problem;
}

/** The same, with the units of work that the check took. Never throws. */
export function checkSchema(schema: Schema, value: unknown): { problem: string | undefined; work: number } {
  const check = new Check(schema);
  try {
    const failure = check.failureAt(schema, { value, name: '', parent: undefined }, 0);
    return { problem: failure && `${pathOf(failure.place)} ${failure.says()}`, work: check.work };
  } catch (error) {
    if (!(error instanceof Unfollowable)) throw error;
    return { problem: `${UNFOLLOWABLE}: ${error.message}`, work: check.work };
  }
}

/** One check of one value: the work so far, and what need not be found out again. */
class Check {
  work = 0;
  readonly #root: Schema;
  readonly #targets = new Map<string, unknown>();
  readonly #followed = new Map<unknown, Map<Place, Failure | undefined>>();
  readonly #choices = new Map<readonly unknown[], Choices>();

  constructor(root: Schema) {
    this.#root = root;
  }

  /** The first failure of the value at a place; undefined if it matches. Throws `Unfollowable`. */
  failureAt(schema: unknown, place: Place, depth: number): Failure | undefined {
    this.#spend(STEP);
    if (depth > MAX_SCHEMA_DEPTH) throw new Unfollowable(`deeper than ${MAX_SCHEMA_DEPTH} levels`);
    if (schema === false) return { place, says: () => 'is not allowed' };
    if (!isJsonObject(schema)) return undefined;
    return (
      this.#referenceFailure(schema, place, depth) ??
      this.#typeFailure(schema, place) ??
      numberFailure(schema, place) ??
      this.#lengthFailure(schema, place) ??
      this.#itemsFailure(schema, place, depth) ??
      this.#propertiesFailure(schema, place, depth) ??
      this.#combinedFailure(schema, place, depth)
    );
  }

  #spend(units: number): void {
    this.work += units;
    if (this.work > MAX_SCHEMA_WORK) {
      throw new Unfollowable(`more than ${MAX_SCHEMA_WORK} units of work for this answer`);
    }
  }

  /** Only a reference brings the same schema to the same place again, so only its result is kept. */
  #referenceFailure({ $ref: reference }: Schema, place: Place, depth: number): Failure | undefined {
    if (typeof reference !== 'string') return undefined;
    const target = this.#resolve(reference);
    let results = this.#followed.get(target);
    if (results === undefined) this.#followed.set(target, (results = new Map()));
    if (results.has(place)) return results.get(place);
    const failure = this.failureAt(target, place, depth + 1);
    results.set(place, failure);
    return failure;
  }

  #resolve(reference: string): unknown {
    let target = this.#targets.get(reference);
    if (target !== undefined) return target;
    this.#spend(reference.length * CHILD);
    if (!reference.startsWith('#')) throw new Unfollowable(`$ref ${show(reference)} leads outside`);
    target = referredTo(this.#root, reference);
    if (target === undefined) throw new Unfollowable(`$ref ${show(reference)} leads nowhere`);
    this.#targets.set(reference, target);
    return target;
  }

  #typeFailure(schema: Schema, place: Place): Failure | undefined {
    const { type, const: constant, enum: members } = schema;
    const { value } = place;
    const types = list(type);
    this.#spend(types.length);
    if (type !== undefined && !types.some((name) => isOfType(value, name))) {
      return { place, says: () => `must be of type ${cut(types.join(' or '))}` };
    }
    if ('const' in schema && !this.#isSame(value, constant)) {
      return { place, says: () => `must be ${show(constant)}` };
    }
    if (!Array.isArray(members) || this.#isChoice(members, value)) return undefined;
    return { place, says: () => `must be one of ${show(members)}` };
  }

  #isChoice(members: readonly unknown[], value: unknown): boolean {
    let choices = this.#choices.get(members);
    if (choices === undefined) {
      this.#spend(members.length * MEMBER);
      choices = {
        keys: new Set(members.filter(isPrimitive).map(keyOf)),
        nested: members.filter((one) => !isPrimitive(one)),
      };
      this.#choices.set(members, choices);
    }
    if (!isPrimitive(value)) return choices.nested.some((one) => this.#isSame(value, one));
    if (typeof value === 'string') this.#spend(value.length >> 4);
    return choices.keys.has(keyOf(value));
  }

  #isSame(a: unknown, b: unknown): boolean {
    this.#spend(CHILD);
    if (typeof a === 'string' && typeof b === 'string') {
      if (a.length === b.length) this.#spend(a.length >> 4);
      return a === b;
    }
    if (a === b) return true;
    if (Array.isArray(a) && Array.isArray(b)) {
      return a.length === b.length && a.every((item, index) => this.#isSame(item, b[index]));
    }
    if (!isJsonObject(a) || !isJsonObject(b)) return false;
    const names = Object.keys(a);
    this.#spend((names.length + 1) * CHILD);
    return (
      names.length === Object.keys(b).length &&
      names.every((name) => Object.hasOwn(b, name) && this.#isSame(a[name], b[name]))
    );
  }

  #lengthFailure(schema: Schema, place: Place): Failure | undefined {
    const [least, most] = lengthLimits(schema, place.value);
    if (typeof least !== 'number' && typeof most !== 'number') return undefined;
    const length = this.#lengthOf(place);
    if (typeof least === 'number' && length < least) {
      return { place, says: () => `must have a length of at least ${least}` };
    }
    if (typeof most !== 'number' || length <= most) return undefined;
    return { place, says: () => `must have a length of at most ${most}` };
  }

  /** Lengths of texts are counted in code points. */
  #lengthOf(place: Place): number {
    if (place.length !== undefined) return place.length;
    if (typeof place.value !== 'string') return (place.length = this.#childrenOf(place).length);
    this.#spend(place.value.length);
    let characters = 0;
    for (const _ of place.value) characters += 1;
    return (place.length = characters);
  }

  #childrenOf(place: Place): readonly Place[] {
    if (place.children !== undefined) return place.children;
    const { value } = place;
    const entries: [string | number, unknown][] = Array.isArray(value)
      ? [...value.entries()]
      : Object.entries(isJsonObject(value) ? value : {});
    this.#spend(entries.length * (Array.isArray(value) ? CHILD : STEP));
    return (place.children = entries.map(([name, child]) => ({ value: child, name, parent: place })));
  }

  #itemsFailure(schema: Schema, place: Place, depth: number): Failure | undefined {
    const { prefixItems, items } = schema;
    if (!Array.isArray(place.value) || (prefixItems === undefined && items === undefined)) return undefined;
    const first: readonly unknown[] = Array.isArray(prefixItems) ? prefixItems : [];
    for (const [index, item] of this.#childrenOf(place).entries()) {
      const failure = this.failureAt(index < first.length ? first[index] : items, item, depth + 1);
      if (failure !== undefined) return failure;
    }
    return undefined;
  }

  #propertiesFailure(schema: Schema, place: Place, depth: number): Failure | undefined {
    const { value } = place;
    if (!isJsonObject(value)) return undefined;
    const { properties, required, additionalProperties: others, patternProperties } = schema;
    for (const name of Array.isArray(required) ? required : []) {
      this.#spend(CHILD);
      if (typeof name !== 'string' || Object.hasOwn(value, name)) continue;
      return { place: { value: undefined, name, parent: place }, says: () => 'is missing' };
    }
    if (properties === undefined && others === undefined) return undefined;
    const declared = isJsonObject(properties) ? properties : {};
    for (const field of this.#childrenOf(place)) {
      const isDeclared = Object.hasOwn(declared, field.name);
      // Which names a pattern matches is unknown here: with patterns, no name counts as extra.
      if (!isDeclared && patternProperties !== undefined) continue;
      const failure = this.failureAt(isDeclared ? declared[field.name] : others, field, depth + 1);
      if (failure !== undefined) return failure;
    }
    return undefined;
  }

  #combinedFailure(schema: Schema, place: Place, depth: number): Failure | undefined {
    const failureOf = (one: unknown): Failure | undefined => this.failureAt(one, place, depth + 1);
    const { allOf, anyOf, oneOf, not } = schema;
    for (const one of Array.isArray(allOf) ? allOf : []) {
      const failure = failureOf(one);
      if (failure !== undefined) return failure;
    }
    if (Array.isArray(anyOf) && anyOf.every((one) => failureOf(one) !== undefined)) {
      return { place, says: () => 'matches none of the alternatives' };
    }
    if (Array.isArray(oneOf) && oneOf.filter((one) => failureOf(one) === undefined).length !== 1) {
      return { place, says: () => 'must match exactly one of the alternatives' };
    }
    return not !== undefined && failureOf(not) === undefined
      ? { place, says: () => 'matches what is excluded' }
      : undefined;
  }
}

function numberFailure(schema: Schema, place: Place): Failure | undefined {
  const { value } = place;
  if (typeof value !== 'number') return undefined;
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  const wrong = (says: string): Failure => ({ place, says: () => says });
  if (typeof minimum === 'number' && value < minimum) return wrong(`must be at least ${minimum}`);
  if (typeof maximum === 'number' && value > maximum) return wrong(`must be at most ${maximum}`);
  if (typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum) {
    return wrong(`must be more than ${exclusiveMinimum}`);
  }
  if (typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum) {
    return wrong(`must be less than ${exclusiveMaximum}`);
  }
  if (typeof multipleOf !== 'number' || multipleOf <= 0) return undefined;
  const quotient = value / multipleOf;
  const isMultiple = Math.abs(quotient - Math.round(quotient)) < 1e-9;
  return isMultiple ? undefined : wrong(`must be a multiple of ${multipleOf}`);
}

function lengthLimits(schema: Schema, value: unknown): [unknown, unknown] {
  if (typeof value === 'string') return [schema['minLength'], schema['maxLength']];
  if (Array.isArray(value)) return [schema['minItems'], schema['maxItems']];
  if (isJsonObject(value)) return [schema['minProperties'], schema['maxProperties']];
  return [undefined, undefined];
}

/**
 * What a `$ref` within the same schema leads to (`#`, or followed by a JSON pointer, RFC 6901); undefined if it leads
 * nowhere, or outside. Never throws.
 */
export function referredTo(root: Schema, reference: string): unknown {
  if (!reference.startsWith('#')) return undefined;
  let target: unknown = root;
  for (const part of reference.slice(1).split('/').slice(1)) {
    const name = decodePointer(part);
    const holder: unknown = target;
    if (Array.isArray(holder)) target = holder[Number(name)];
    else target = isJsonObject(holder) && Object.hasOwn(holder, name) ? holder[name] : undefined;
    if (target === undefined) return undefined;
  }
  return target;
}

function decodePointer(part: string): string {
  const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
  try {
    return decodeURIComponent(name);
  } catch {
    // A lone "%" stands for itself.
    return name;
  }
}

function isOfType(value: unknown, name: unknown): boolean {
  switch (name) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isJsonObject(value);
    case 'integer':
      return Number.isInteger(value);
    default:
      return typeof value === name;
  }
}

function isPrimitive(value: unknown): boolean {
  return typeof value !== 'object' || value === null;
}

/** Different for different primitive values. A text in any case: V8 hashes numbers predictably, so chosen ones could all collide. */
function keyOf(value: unknown): string {
  return `${typeof value === 'string' ? '"' : '='}${String(value)}`;
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value];
}

/** Longest quotation of a schema in a message, in characters. */
const MAX_SHOWN = 100;

function show(value: unknown): string {
  return cut(JSON.stringify(value) ?? 'undefined');
}

function cut(text: string): string {
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN).toWellFormed()}…`;
}

/** The JSON pointer of a place, cut. */
function pathOf(place: Place): string {
  const names: (string | number)[] = [];
  for (let at: Place | undefined = place; at?.parent !== undefined; at = at.parent) names.unshift(at.name);
  return names.length === 0 ? 'it' : `/${names.join('/')}`.slice(0, MAX_SHOWN).toWellFormed();
}

/** What the API's description says about a route. */
import type { z } from 'zod';

/** One route: what it does, what it reads, what it answers with. */
export interface Operation {
  tag:
    | 'gateway'
    | 'openai'
    | 'ollama'
    | 'sessions'
    | 'files'
    | 'plans'
    | 'approvals'
    | 'schedules'
    | 'usage'
    | 'administration';
  summary: string;
  /** What one would not guess: limits, rights, what repeats do. */
  description: string;
  /** Fields of the query, each with what it is. */
  query?: Record<string, string>;
  /** The body that is read, by the schema that checks it. */
  body?: z.ZodType;
  /** The request works without its body. */
  bodyOptional?: true;
  /** The body is a file or a form instead: by content type. */
  upload?: Readonly<Record<string, object>>;
  /** The status of success; 200 by default. */
  status?: number;
  /** The body of the answer; a JSON object of any form by default. `session-events`: the data of each event is one of the catalogue. */
  answer?: z.ZodType | 'text' | 'events' | 'session-events' | 'bytes' | 'nothing';
  /** Further bodies: in another form, or with another status of success. */
  others?: readonly OtherAnswer[];
}

/** A body besides the usual one. */
export interface OtherAnswer {
  /** That of the usual one by default. */
  status?: number;
  /** The content type; JSON by default. */
  type?: string;
  /** A text, or the schema of JSON; nothing without a body. */
  body: z.ZodType | 'text' | 'bytes' | 'nothing';
}

/** Operations by `METHOD /path`, as the table of routes has them. */
export type Operations = Readonly<Record<string, Operation>>;

/** What the gateway offers to programs over the Model Context Protocol: one request is answered from one offer. */

/** A tool as clients list it. */
export interface OfferedTool {
  name: string;
  title: string;
  description: string;
  /** A JSON Schema of an object. */
  inputSchema: { type: 'object' } & Record<string, unknown>;
  annotations: {
    readOnlyHint: boolean;
    destructiveHint?: boolean;
    idempotentHint?: boolean;
    openWorldHint: boolean;
  };
}

/** What a tool answers: text for the model, and the same as JSON where programs read single fields. */
export interface OfferedResult {
  text: string;
  fields?: Record<string, unknown> | undefined;
  isError?: boolean | undefined;
}

/** Something that clients may read, at its address; a template has `{…}` in it. */
export interface OfferedResource {
  uri: string;
  name: string;
  description?: string | undefined;
}

/** The offer to one caller. What its functions reject with, other than an `OfferError`, is a defect. */
export interface McpOffer {
  /** How the tools belong together, for the model. */
  instructions: string;
  tools(): readonly OfferedTool[];
  templates: readonly OfferedResource[];
  /** A page of what there is to read; `next` continues after it. */
  resources(cursor: string | undefined): Promise<{ resources: OfferedResource[]; next?: string | undefined }>;
  /** JSON, or undefined when there is nothing at that address that the caller may read. */
  read(uri: string): Promise<string | undefined>;
  /** Calls a tool of the offer, or any other by its name; undefined when there is none. `progress` shows a line to people who wait. */
  call(
    name: string,
    args: Record<string, unknown>,
    progress: (text: string) => void,
  ): Promise<OfferedResult | undefined>;
  /**
   * Set when the request is answered as a stream that can be resumed: the id of its next event. From it, the rest can be
   * answered after a restart, on any node.
   */
  eventId?: (() => Promise<string>) | undefined;
}

/**
 * Answers a request of the Streamable HTTP transport, whose body has been read. Throws `GatewayError('not_installed')`
 * when the protocol's packages are missing.
 */
export type ServeMcp = (request: Request, body: unknown, offer: McpOffer) => Promise<Response>;

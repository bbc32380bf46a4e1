CREATE TABLE "eval_case" (
	"name" text NOT NULL,
	"turn_id" text NOT NULL,
	"session" text NOT NULL,
	"record" jsonb NOT NULL,
	"checks" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "eval_case_name_turn_id_pk" PRIMARY KEY("name","turn_id")
);
--> statement-breakpoint
CREATE TABLE "eval_result" (
	"run" text NOT NULL,
	"turn_id" text NOT NULL,
	"model" text NOT NULL,
	"result" jsonb NOT NULL,
	"at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "eval_result_run_turn_id_model_pk" PRIMARY KEY("run","turn_id","model")
);
--> statement-breakpoint
CREATE TABLE "tool_list" (
	"key" text PRIMARY KEY NOT NULL,
	"tools" jsonb NOT NULL,
	"used_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE INDEX "eval_case_session" ON "eval_case" USING btree ("session");--> statement-breakpoint
CREATE INDEX "eval_result_turn" ON "eval_result" USING btree ("turn_id");--> statement-breakpoint
CREATE INDEX "eval_result_at" ON "eval_result" USING btree ("at");--> statement-breakpoint
CREATE INDEX "tool_list_used" ON "tool_list" USING btree ("used_at");
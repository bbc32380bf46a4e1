CREATE TABLE "usage_sum" (
	"user_id" text NOT NULL,
	"hour" timestamp with time zone NOT NULL,
	"prompt_tokens" bigint NOT NULL,
	"completion_tokens" bigint NOT NULL,
	"model_ms" bigint NOT NULL,
	"answers" integer NOT NULL,
	"estimated" boolean NOT NULL,
	"up_to" bigint NOT NULL,
	CONSTRAINT "usage_sum_user_id_hour_pk" PRIMARY KEY("user_id","hour")
);
--> statement-breakpoint
CREATE INDEX "usage_sum_up_to" ON "usage_sum" USING btree ("up_to");
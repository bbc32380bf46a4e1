CREATE TABLE "link" (
	"hash" text PRIMARY KEY NOT NULL,
	"session" text NOT NULL,
	"address" text NOT NULL,
	"place" text NOT NULL,
	"name" text,
	"user_id" text NOT NULL,
	"agreed" boolean DEFAULT false NOT NULL,
	"to_address" text,
	"to_place" text,
	"to_name" text,
	"to_user_id" text,
	"to_agreed" boolean DEFAULT false NOT NULL,
	"ended" text,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "link_try" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "link_try_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"user_id" text NOT NULL,
	"address" text NOT NULL,
	"at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "surface" (
	"address" text PRIMARY KEY NOT NULL,
	"session" text NOT NULL,
	"place" text NOT NULL,
	"name" text,
	"user_id" text NOT NULL,
	"is_home" boolean NOT NULL,
	"before" text,
	"linked_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE INDEX "link_address" ON "link" USING btree ("address");--> statement-breakpoint
CREATE INDEX "link_to_address" ON "link" USING btree ("to_address");--> statement-breakpoint
CREATE INDEX "link_try_at" ON "link_try" USING btree ("at");--> statement-breakpoint
CREATE INDEX "surface_session" ON "surface" USING btree ("session");
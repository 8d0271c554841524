"""Makes an image with a Stable Diffusion pipeline whose parts are tiny and random: nothing is downloaded.

DDIM's steps do not depend on what kernels computed, so this ends on a GPU that computes nothing, too."""
import diffusers
import torch
import transformers

torch.backends.cudnn.enabled = False
torch.manual_seed(0)
text = transformers.CLIPTextModel(
    transformers.CLIPTextConfig(
        vocab_size=64, hidden_size=32, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2,
        max_position_embeddings=8, bos_token_id=0, eos_token_id=2, pad_token_id=1,
    )
)
image = diffusers.AutoencoderKL(
    down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
    block_out_channels=(8, 8), layers_per_block=1, norm_num_groups=4, latent_channels=4,
)
noise = diffusers.UNet2DConditionModel(
    sample_size=8, in_channels=4, out_channels=4, layers_per_block=1, block_out_channels=(16, 32),
    down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"), up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
    cross_attention_dim=32, attention_head_dim=8, norm_num_groups=8,
)
pipeline = diffusers.StableDiffusionPipeline(
    vae=image, text_encoder=text, tokenizer=None, unet=noise, scheduler=diffusers.DDIMScheduler(),
    safety_checker=None, feature_extractor=None, requires_safety_checker=False,
).to("cuda")
pipeline.set_progress_bar_config(disable=True)
prompt = pipeline.text_encoder(torch.arange(8)[None].to("cuda"))[0]
made = pipeline(
    prompt_embeds=prompt, negative_prompt_embeds=prompt, num_inference_steps=2, height=16, width=16, output_type="np"
)
print("image", made.images.shape)
